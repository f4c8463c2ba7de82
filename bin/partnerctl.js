#!/usr/bin/env node
// CommonJS (see package.json beside it), as all of dist: the loader of ES modules alone takes a quarter of a bare start.
const { enableCompileCache } = require('node:module');
const { isAbsolute, join } = require('node:path');

// Not in the temporary directory, as by default: there, another user could plant compiled code that runs with the token.
const { HOME, XDG_CACHE_HOME: cache = '' } = process.env;
// Loading node:os slows down start-up.
const home = HOME || require('node:os').homedir();
enableCompileCache?.(join(isAbsolute(cache) ? cache : join(home, '.cache'), 'partnerctl', 'compiled'));

require('../dist/program/cli.cjs');
