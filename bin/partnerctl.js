#!/usr/bin/env node
import { runProcess } from '../dist/cli.js';

await runProcess();
