import { declareCells } from './declare.ts';
import { PUBLIC_APIS_2 } from './services/public-apis-2.ts';

declareCells(PUBLIC_APIS_2);
