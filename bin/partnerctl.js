#!/usr/bin/env node
// CommonJS (see package.json beside it), as all of dist: the loader of ES modules alone takes a quarter of a bare start.
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { isAbsolute, join } = require('node:path');

// Not in the temporary directory, as by default: there, another user could plant compiled code that runs with the token.
const { XDG_CACHE_HOME: cache = '' } = process.env;
enableCompileCache?.(join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'partnerctl', 'compiled'));

require('../dist/program/cli.cjs');
