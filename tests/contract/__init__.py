"""The GPU path without a GPU: run on stand-ins, and the stand-ins held to the real RAPIDS.

- Stand-ins: `arrays` is CuPy (NumPy inside) and `csr` its sparse rows (SciPy inside), `tables` and
  `parquet` cuDF (pandas inside), `models` and `text` cuML (scikit-learn inside, with
  `least_squares` and `trees` as cuML has them).
  `standins` puts them, and RMM, where `import cudf` finds them. They have the names of the real
  classes alone, and refuse what copies rows to the host by itself.
- `recorder` notes every call and copy, and the bytes alive at once. The fixture `device` installs
  the stand-ins, and fails a test if RAPIDS would object to one of its calls. Of a test that is
  marked `cases.EVERYWHERE` it is a GPU as well, where there is one.
- The checker: `snapshot` freezes names, signatures (`signatures`) and refusals (`guards`) of the
  packages in `snapshot.json`; `verify` holds calls against it.
- Cases: `cases` (programs and a table), `memory` (a transformer each), `estimators` (values of
  parameters), `tests.estimators`. `probes` asks cuML what it makes of parameters.
- `live`: the same facts in the installed packages (`make test-contract`).
- `tests/gpu`: what only a GPU shows.

See docs/gpu.md.
"""
