import { type CommandOutput, described, object, STRING } from '../output/output-schema.ts';

export const SANDBOX_START: CommandOutput = {
  json: null,
  ndjson: described(
    'the only line, once it listens',
    object(
      {
        base_url: described('for PARTNER_BASE_URL', STRING),
        token: described('for PARTNER_TOKEN', STRING),
        admin_url: described('for PARTNER_SANDBOX_URL', STRING),
        admin_key: described('for PARTNER_SANDBOX_KEY', STRING),
      },
      { webhook_secret: described('for PARTNER_WEBHOOK_SECRET', STRING) },
    ),
  ),
};

export const SANDBOX_RUN: CommandOutput = { json: null, text: 'what the command prints' };
