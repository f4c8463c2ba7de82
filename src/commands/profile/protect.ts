import { deferred, defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../output/command-result.ts';

const UNPROTECTED =
  'With PARTNER_BASE_URL and PARTNER_TOKEN set and no --profile, no profile is used, and nothing asks.';

const protection = (isProtected: boolean) =>
  deferred(async ({ config, notice }, name: string) => {
    await config.update(name, ({ protected: _, ...profile }) => ({
      ...profile,
      ...(isProtected && { protected: true }),
    }));
    if (isProtected) await notice(`note: ${UNPROTECTED}`);
    return recordResult({ profile: name, protected: isProtected });
  });

export const protect = () =>
  defineCommand('protect', 'Ask for the name of a profile before each write', {
    description: `Protects a profile: every command that writes to its service asks for the profile's name, or needs --confirm <profile> where it cannot ask. Reads and dry runs never ask. ${UNPROTECTED}`,
    exits: ['notFound'],
    json: '{profile, protected}',
    examples: [
      'partnerctl profile protect acme  # ask before each write to acme',
      'partnerctl plan acme.yaml --profile acme  # reads never ask',
      'partnerctl provision acme.yaml --profile acme --confirm acme  # a write where nobody can be asked',
    ],
  })
    .argument('<profile>', 'the profile')
    .action(protection(true));

export const unprotect = () =>
  defineCommand('unprotect', 'End the protection of a profile', {
    exits: ['notFound'],
    json: '{profile, protected}',
    examples: [
      'partnerctl profile unprotect acme  # write to acme without being asked',
      'partnerctl provision acme.yaml --profile acme --confirm acme  # or confirm one write, and keep the protection',
      "partnerctl profile list -o json --query '[?!protected].name'  # those that are not protected",
    ],
  })
    .argument('<profile>', 'the profile')
    .action(protection(false));
