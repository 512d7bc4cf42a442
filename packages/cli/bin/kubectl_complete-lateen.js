#!/usr/bin/env node
'use strict'

// kubectl runs this for `kubectl lateen …<TAB>`, with the words after `lateen`.
if (process.argv[2] !== '__complete') process.argv.splice(2, 0, '__complete')
require('./launch.js').launch(__filename, () => import('../src/main.ts'))
