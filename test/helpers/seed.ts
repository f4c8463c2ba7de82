import fc from 'fast-check';

/**
 * Properties are tried with the same values each time, so that a test that begins to fail was broken by a change. To look
 * for what nobody has found yet: `SEED=$RANDOM npm run test:sweeps`.
 */
fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_261_121) });
