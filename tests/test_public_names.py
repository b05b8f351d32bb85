"""Every public name is documented, with an example that doctest runs; there are few of them."""

import doctest
import inspect
import types

import pytest

import whatfor as wf

MAX_NAMES = 30


def test_there_are_few_of_them():
    assert len(wf.__all__) <= MAX_NAMES, f"{len(wf.__all__)} names: a new one has to replace another"


def test_they_are_listed_once_and_in_order():
    assert list(wf.__all__) == sorted(set(wf.__all__))


@pytest.mark.parametrize("name", wf.__all__)
def test_it_is_documented_with_an_example_that_doctest_runs(name):
    thing = getattr(wf, name)
    module = thing if isinstance(thing, types.ModuleType) else inspect.getmodule(thing)
    assert module.__name__.startswith("whatfor"), "doctests of the package's modules are run by `make test`"
    assert thing.__doc__, f"wf.{name} has no docstring"
    own = module.__name__ if thing is module else f"{module.__name__}.{thing.__qualname__}"
    run = {test.name: test.examples for test in doctest.DocTestFinder().find(module, module.__name__)}
    examples = [example for example in run[own] if not example.options.get(doctest.SKIP)]
    assert examples, f"the docstring of wf.{name} has no example (>>>)"
