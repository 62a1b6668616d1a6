"""Programs that the fuzzer found and reduced: ours once differed from plain scikit-learn."""

from __future__ import annotations

import pytest

from tools.fuzz import difference

CASES = {
    "methods that what a search has found lacks": """
space = {'logisticregression': [DecisionTreeClassifier()]}
model = wrap(GridSearchCV(make_pipeline(LogisticRegression()), space, cv=2))
model.fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
methods(model)
model.decision_function([[1.0]])""",
    "sparse rows of a step of scikit-learn's": """
model = wrap(make_pipeline(RandomTreesEmbedding(n_estimators=2, random_state=0), MaxAbsScaler()))
model.fit_transform([[1.0], [2.0], [3.0]])
model.transform([[1.0]])""",
    "a sparse target": """
model = wrap(make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())))
model.fit([[1.0], [2.0], [3.0]], sp.csr_matrix(np.eye(3)))
model.predict([[1.0]])""",
    "a matrix that is no array": """
model = wrap(make_column_transformer((OneHotEncoder(), [0])))
model.fit(sp.csr_matrix(np.eye(3)).todense())""",
    "names of a pipeline without a step": """
model = wrap(make_pipeline('passthrough'))
model.fit([[1.0], [2.0]])
model.get_feature_names_out()""",
    "results of no evaluation": """
model = wrap(XGBRegressor(n_estimators=2))
model.fit([[1.0], [2.0]], [1.0, 2.0])
learnt(model)""",
    "boosting without a target": """
model = wrap(XGBClassifier())
model.fit([[1.0], [2.0]])""",
    "frames without names, saved": """
set_config(transform_output='pandas')
X = pd.DataFrame({'a': [1.0, 2.0, 4.0]})
model = wrap(make_pipeline(StandardScaler(), make_union(FunctionTransformer(np.abs)), Ridge()))
model.fit(X, [1.0, 2.0, 3.0])
model = stored(model)
model.predict(X)""",
    "index of rows that are read by position": """
model = wrap(StandardScaler())
model.set_output(transform='pandas')
model.fit([[1.0], [2.0]])
model.transform(pd.DataFrame({'a': [1.0, 2.0]}, index=['x', 'y']))""",
    "type of the labels of a target encoder": """
model = wrap(TargetEncoder(random_state=0))
model.fit([[1.0]] * 11, column('texts', 'str', 4, 11))
learnt(model)""",
    "indicators in a matrix of objects": """
X = pd.DataFrame({'a': ['u', 'v'], 'b': [1, 2]})
kinds = []
for dtype in (np.float32, bool, int):
    model = wrap(make_column_transformer((OneHotEncoder(dtype=dtype), ['b']),
                 remainder='passthrough', sparse_threshold=0))
    kinds.append([type(cell).__name__ for cell in model.fit_transform(X)[0]])
kinds""",
    "a column transformer that drops every column": """
model = wrap(make_column_transformer(('drop', [0])))
model.fit([[1.0], [2.0]])
learnt(model)
model = stored(model)
model.transform([[1.0]])""",
    "frames that are asked for after fit, of nullable numbers": """
X = pl.DataFrame({'a': ['u', 'v', 'u'], 'b': [True, False, True]})
model = wrap(MissingIndicator(error_on_new=False))
model.fit(X)
model.set_output(transform='pandas')
model.transform(pl.DataFrame({'a': ['u', None], 'b': [None, True]}))""",
    "a frame of Polars that a step hands on": """
model = wrap(make_pipeline(SimpleImputer(), FunctionTransformer()))
model.set_output(transform='polars')
model.fit_transform(pd.DataFrame({'a': [1.0, 2.0]}))
model.transform(pd.DataFrame({'a': [1.0, 2.0]}))""",
    "what XGBoost refuses of a frame of Polars": """
model = wrap(make_pipeline(StandardScaler(), PCA(), XGBRegressor()))
model.set_output(transform='polars')
model.fit([[1.0], [2.0]], [1.0, 2.0], xgbregressor__sample_weight=[-1.0, 1.0])""",
    "missing dates beside numbers, of Polars": """
X = pl.DataFrame({'d': pd.to_datetime(['2021-03-27', '2021-03-28']), 'n': [1.0, 2.0]})
Z = pl.DataFrame({'d': [*pd.to_datetime(['2021-03-28', '2021-03-29']), None], 'n': [1.0, 2.0, 2.0]})
model = wrap(OrdinalEncoder(handle_unknown='use_encoded_value', unknown_value=-1))
model.fit(X)
model.transform(Z)""",
    "infinite numbers beside missing booleans, of Polars": """
X = pl.DataFrame({'b': [True, None, False], 'n': [1.0, 2.0, np.inf]})
model = wrap(make_column_transformer((MaxAbsScaler(), []), remainder='passthrough'))
model.fit(X[:2])
model.transform(X)""",
    "dates that a selector leaves": """
X = pd.DataFrame({'d': pd.to_datetime(['2021-03-27', '2021-03-28']), 'n': [1.0, 2.0]})
model = wrap(make_column_transformer((SelectFromModel(Ridge(), threshold=-1), ['d'])))
model.fit_transform(X, [0.0, 1.0])""",
    "nulls of text in the first row": """
model = wrap(make_column_transformer((MissingIndicator(), ['t'])))
model.fit_transform(pl.DataFrame({'t': [None, 'a', 'b']}))
learnt(model)""",
    "frames of a step that has weights": """
model = wrap(make_pipeline(make_column_transformer((SimpleImputer(), [1])), SplineTransformer()))
model.set_output(transform='polars')
model.fit([[1.0, 2.0], [2.0, 3.0]], splinetransformer__sample_weight=np.ones(2))
model.transform([[1.0, 2.0]])
plain(model).transform([[1.0, 2.0]])""",
}


@pytest.mark.parametrize("name", CASES)
def test_ours_is_as_plain_scikit_learn(name: str) -> None:
    assert difference(CASES[name]) is None
