import {
  arrayOf,
  BOOLEAN,
  type CommandOutput,
  described,
  listOf,
  object,
  oneOf,
  STRING,
} from '../output/output-schema.ts';
import { NULLABLE_TEXT } from './common.ts';

const TOKEN = described('where the token is kept', oneOf('stored', 'keychain', 'command', 'none'));

export const LOGIN: CommandOutput = {
  json: object({
    profile: STRING,
    base_url: STRING,
    token: TOKEN,
    verified: BOOLEAN,
    verified_by: described('the call that the token was tried with', NULLABLE_TEXT),
    current: described('the current profile', STRING),
  }),
};

export const LOGOUT: CommandOutput = {
  json: object({ profile: STRING, forgotten: described('whether the profile had a token', BOOLEAN) }),
};

export const WHOAMI: CommandOutput = {
  json: object({
    profile: described('null if none is in use', NULLABLE_TEXT),
    profile_from: NULLABLE_TEXT,
    protected: BOOLEAN,
    base_url: STRING,
    base_url_from: STRING,
    token_from: NULLABLE_TEXT,
    token_status: oneOf('accepted', 'rejected', 'forbidden', 'unknown', 'none'),
    verified_by: described('the call that the token was tried with', NULLABLE_TEXT),
    overridden: described('the settings that others override', arrayOf(STRING)),
  }),
};

export const PROFILE_LIST: CommandOutput = listOf(
  object({ name: STRING, base_url: NULLABLE_TEXT, token: TOKEN, current: BOOLEAN, protected: BOOLEAN }),
);

export const PROFILE_USE: CommandOutput = { json: object({ profile: STRING, base_url: NULLABLE_TEXT }) };

export const PROFILE_SHOW: CommandOutput = {
  json: object({
    name: STRING,
    base_url: NULLABLE_TEXT,
    token: TOKEN,
    keychain_account: NULLABLE_TEXT,
    token_command: NULLABLE_TEXT,
    state: NULLABLE_TEXT,
    state_password_command: NULLABLE_TEXT,
    current: BOOLEAN,
    protected: BOOLEAN,
    file: described('the file of all profiles', STRING),
  }),
};

/** The output of `profile protect` and `profile unprotect`. */
export const PROFILE_PROTECTION: CommandOutput = { json: object({ profile: STRING, protected: BOOLEAN }) };

export const PROFILE_REMOVE: CommandOutput = { json: object({ profile: STRING, removed: BOOLEAN }) };
