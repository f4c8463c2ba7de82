import { run } from '../helpers/run.ts';
import { SHAPES, testNoTokenLeak } from '../helpers/token-echo.ts';

// The sweep also tries every spelling of the token.
testNoTokenLeak((args, env) => run(args, { env }), SHAPES);
