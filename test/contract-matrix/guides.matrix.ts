import { declareCells } from './declare.ts';
import { GUIDES } from './services/guides.ts';

declareCells(GUIDES);
