import { declareCells } from './declare.ts';
import { ODDITIES } from './services/oddities.ts';

declareCells(ODDITIES);
