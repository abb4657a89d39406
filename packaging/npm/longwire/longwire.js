#!/usr/bin/env node
// Runs the program of the package for this platform.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');

function program() {
  const name = `longwire-${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/longwire`);
  } catch {
    console.error(`longwire: the package ${name} is not installed: there is a program for x86-64 Linux only, and --omit=optional leaves it out`);
    process.exit(2);
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => {
  console.error(`longwire: ${error.message}: the program needs glibc 2.28 or later`);
  process.exit(126);
});
// A terminal sends Ctrl-C and hang-ups to the program too, and it prints its results before it ends.
process.on('SIGINT', () => {});
process.on('SIGHUP', () => {});
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('exit', (status, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : status));
