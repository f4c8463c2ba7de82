import { declareCells } from './declare.ts';
import { FRAMEWORKS } from './services/frameworks.ts';

declareCells(FRAMEWORKS);
