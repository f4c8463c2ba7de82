import { declareCells } from './declare.ts';
import { PUBLIC_APIS_1 } from './services/public-apis-1.ts';

declareCells(PUBLIC_APIS_1);
