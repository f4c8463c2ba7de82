import { expect, test } from 'vitest';
import { raceLogins, raceLogout } from '../helpers/profile-races.ts';

test('four logins at once store four profiles, and leave no other file', async () => {
  for (let round = 0; round < 2; round += 1) expect(await raceLogins(4)).toEqual({ lost: [], leftovers: [] });
});

test('no file holds the token once logout has returned, whatever runs beside it', async () => {
  for (let round = 0; round < 2; round += 1) expect(await raceLogout(3)).toEqual([]);
});
