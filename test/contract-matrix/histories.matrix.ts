import { declareCells } from './declare.ts';
import { HISTORIES } from './services/histories.ts';

declareCells(HISTORIES, 'chat ');
