import { describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/errors.ts';
import { type LocationSources, stateLocation } from '../../../src/state/location.ts';

function located(sources: Partial<LocationSources>) {
  return stateLocation({ flag: undefined, env: {}, platform: 'linux', home: '/home/ada', ...sources });
}

describe('the state file is', () => {
  const env = { PARTNER_STATE: 'ci/state.jsonl', XDG_STATE_HOME: '/var/state' };

  it('otherwise in XDG_STATE_HOME, unless that is relative or empty', () => {
    const home = { path: '/home/ada/.local/state/partnerctl/state.jsonl', from: 'default' };
    expect(located({ env: { XDG_STATE_HOME: '/var/state', PARTNER_STATE: '' } })).toMatchObject({
      path: '/var/state/partnerctl/state.jsonl',
      from: 'XDG_STATE_HOME',
    });
    expect(located({ env: { XDG_STATE_HOME: 'state' } })).toMatchObject(home);
    expect(located({ env: { XDG_STATE_HOME: '' } })).toMatchObject(home);
    expect(located({})).toMatchObject(home);
  });

  it('in the local application data on Windows', () => {
    const windows = { platform: 'win32', home: 'C:\\Users\\ada' } as const;
    expect(located({ ...windows, env: { LOCALAPPDATA: 'D:\\Local' } })).toMatchObject({
      path: 'D:\\Local\\partnerctl\\state.jsonl',
      from: 'LOCALAPPDATA',
    });
    expect(located(windows)).toMatchObject({
      path: 'C:\\Users\\ada\\AppData\\Local\\partnerctl\\state.jsonl',
      from: 'default',
    });
  });

  it('nowhere if the flag is empty or there is no home', () => {
    expect(() => located({ flag: '', env })).toThrow(UsageError);
    expect(() => located({ home: '' })).toThrow(UsageError);
    expect(located({ home: '', env }).from).toBe('PARTNER_STATE');
  });
});
