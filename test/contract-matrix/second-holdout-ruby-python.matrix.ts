import { declareCells } from './declare.ts';
import { RUBY_PYTHON } from './services/second-holdout-ruby-python.ts';

declareCells(RUBY_PYTHON);
