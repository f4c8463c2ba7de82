import { start } from '../e2e/program.ts';
import { testNoTokenLeak } from '../helpers/token-echo.ts';

testNoTokenLeak((args, env) => start(args, { env }));
