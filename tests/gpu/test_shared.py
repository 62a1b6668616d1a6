"""Tests of the GPU path that hold on stand-ins and on a GPU alike, run on the GPU."""

from __future__ import annotations

from tests.contract.test_frames import (  # noqa: F401
    test_dates_are_the_same_categories,
    test_dates_are_the_same_numbers,
    test_huge_integers_without_holes_stay_apart,
    test_missing_text_becomes_missing_numbers,
    test_rows_match_by_their_labels_whichever_library_holds_them,
    test_the_policy_holds_for_frames_of_the_device,
    test_the_same_columns_are_refused,
)
from tests.contract.test_parquet import (  # noqa: F401
    parquet_file,
    test_a_column_that_is_not_there_is_named,
    test_a_condition_that_cannot_be_tested_is_named,
    test_a_name_gives_the_column,
    test_a_zone_that_cudf_does_not_know_is_named,
    test_categories_of_files_that_differ_are_joined,
    test_damage_is_told,
    test_every_split_has_the_categories_of_the_file,
    test_labels_that_pandas_wrote_are_left_out,
    test_partitions_are_parts_of_the_same_frame,
    test_rows_are_those_that_meet_the_conditions,
)
from tests.contract.test_values import (  # noqa: F401
    test_nan_of_either_sign_is_missing,
    test_single_precision_has_signs_as_well,
)
