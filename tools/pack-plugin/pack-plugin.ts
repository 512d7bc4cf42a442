import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { build } from 'esbuild'
import { runCommand } from '../binaries/run-command.ts'
import { addElfNote } from './add-elf-note.ts'

/** By this name Node looks for a program inside of itself. */
const noteName = 'NODE_SEA_BLOB'
/** Node looks only if the last character of this text in it is 1. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:'

export interface PackOptions {
  /** The file that calls `servePlugin`. */
  source: string
  /** Where the executable goes. */
  target: string
}

/**
 * Packs a plugin program and Node into one executable, for machines of this kind that need nothing else. Throws esbuild's BuildFailure,
 * or ElfError where Node is no ELF program.
 */
export async function packPlugin({ source, target }: PackOptions): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-pack-'))
  try {
    const blob = await makeBlob(source, folder)
    const node = await readFile(process.execPath)
    const switched = node.indexOf(fuse)
    if (switched < 0)
      throw new Error(`${process.execPath} cannot carry a program; use an official build of Node`)
    node.write('1', switched + fuse.length, 'latin1')
    await mkdir(path.dirname(target), { recursive: true })
    // A folder of plugins that is being read must never show half of one.
    const part = path.join(path.dirname(target), `.${path.basename(target)}.part`)
    await writeFile(part, addElfNote(node, { name: noteName, content: blob }))
    await chmod(part, 0o755)
    await rename(part, target)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeBlob(source: string, folder: string): Promise<Uint8Array> {
  const [main, output, config] = ['main.cjs', 'blob', 'config.json'].map(name => path.join(folder, name))
  await build({
    entryPoints: [source],
    outfile: main as string,
    bundle: true,
    // The form that Node takes from an executable; the call of servePlugin needs no await at the top.
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    keepNames: true,
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    define: { 'import.meta.url': '__filename' },
    logLevel: 'silent',
  })
  const settings = { main, output, disableExperimentalSEAWarning: true, useCodeCache: true }
  await writeFile(config as string, JSON.stringify(settings))
  await runCommand(process.execPath, ['--experimental-sea-config', config as string])
  return readFile(output as string)
}
