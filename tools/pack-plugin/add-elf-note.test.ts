import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { addElfNote } from './add-elf-note.ts'

const run = promisify(execFile)

describe('adding a note to a program', () => {
  it('leaves a program that runs, and has the note in its memory', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'lateen-elf-'))
    try {
      const copy = path.join(folder, 'node')
      const content = Buffer.from('what a program finds in itself')
      await writeFile(copy, addElfNote(await readFile(process.execPath), { name: 'LATEEN_TEST', content }))
      await chmod(copy, 0o755)
      // Reads the segments of the process that runs it, by the kernel's list of what is mapped.
      const script = `
        const fs = require('node:fs')
        const lines = fs.readFileSync('/proc/self/maps', 'utf8').split('\\n')
        const memory = fs.openSync('/proc/self/mem')
        const found = lines.filter(line => line.endsWith(process.execPath) && line.includes(' r--p ')).filter(line => {
          const [start, end] = line.split(' ')[0].split('-').map(part => parseInt(part, 16))
          const bytes = Buffer.alloc(end - start)
          fs.readSync(memory, bytes, 0, bytes.length, start)
          return bytes.includes('LATEEN_TEST') && bytes.includes('what a program finds in itself')
        })
        console.log(found.length)`
      const { stdout } = await run(copy, ['-e', script])
      assert.equal(stdout, '1\n')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('is refused for what is no program', () => {
    const note = { name: 'x', content: Buffer.alloc(1) }
    for (const bytes of [Buffer.alloc(0), Buffer.from('#!/bin/sh\n'.repeat(20)), Buffer.alloc(200)]) {
      assert.throws(() => addElfNote(bytes, note), { code: 'ELF_UNSUPPORTED' })
    }
  })
})
