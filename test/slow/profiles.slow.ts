import { expect, test } from 'vitest';
import { raceLogins, raceLogout } from '../support/profile-races.ts';

test('12 rounds of four concurrent logins, and one of 24, lose no profile', async () => {
  for (let round = 0; round < 12; round += 1) expect(await raceLogins(4)).toEqual({ lost: [], leftovers: [] });
  expect(await raceLogins(24)).toEqual({ lost: [], leftovers: [] });
});

test('12 rounds of logout next to `profile use` leave the token in no file', async () => {
  for (let round = 0; round < 12; round += 1) expect(await raceLogout(3)).toEqual([]);
});
