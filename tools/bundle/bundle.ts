import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type BuildOptions, build, type Metafile } from 'esbuild'
import { gitCommit } from '../../packages/cli/src/build-info.ts'
import { fromProgram, leftOut, programSource } from './apart.ts'
import { compileProgram } from './compile-program.ts'
import { compileServer } from './compile-server.ts'
import { lazyBuiltins } from './lazy-builtins.ts'
import { lazyIndexes } from './lazy-indexes.ts'
import { lazyPackages } from './lazy-packages.ts'
import { lazyUndici } from './lazy-undici.ts'
import { copyNativePackages } from './native-packages.ts'
import { unusedModules } from './unused-modules.ts'

/** The programs as files that need nothing beside them but Node. */
export interface Bundle {
  version: string
  /** The file to run, relative to the bundle's folder. */
  entry: string
  /** The one of `lateen-repo`. */
  repoEntry: string
  /** The one of `velero-restore-helper`. */
  restoreHelperEntry: string
  files: { path: string; from: string }[]
  /** The sources of which something is in the files, as paths from the root of the workspace. */
  sources: string[]
}

const root = path.join(import.meta.dirname, '..', '..')

/**
 * Bundles the command lines with all that they can load into `folder`, which is replaced. `lateen` is two files, one for what talks to
 * a cluster and one for what does a server's work; what is imported lazily is in them too and runs when it is needed. Beside each
 * lies what V8 has compiled of it, and packages with binaries lie in `node_modules`. Throws esbuild's BuildFailure with the places of the errors.
 */
export async function bundleLateen(folder: string = path.join(root, 'dist')): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const define = {
    'globalThis.lateenCommit': JSON.stringify(await gitCommit(root)),
    'globalThis.lateenBundled': 'true',
  }
  const program = await build(programOptions(folder, define))
  const server = await build(serverOptions(folder, define))
  const others = await build(otherOptions(folder, define))
  for (const part of ['program.cjs', 'server-program.cjs']) await escapeNonAscii(path.join(folder, part))
  for (const launcher of ['lateen.cjs', 'server.cjs']) {
    await copyFile(path.join(import.meta.dirname, 'launcher.cjs'), path.join(folder, launcher))
  }
  await compileProgram(path.join(folder, 'program.cjs'), path.join(folder, 'program.code'))
  await compileServer(folder)
  const entries = {
    entry: 'lateen.cjs',
    repoEntry: 'lateen-repo.mjs',
    restoreHelperEntry: 'restore-helper.mjs',
  }
  for (const file of Object.values(entries)) await chmod(path.join(folder, file), 0o755)
  const names = (await readdir(folder)).sort()
  const native = await copyNativePackages(root, folder)
  return {
    version: await workspaceVersion(),
    ...entries,
    files: [...names, ...native].map(name => ({ path: name, from: path.join(folder, name) })),
    sources: [...usedSources([program.metafile, server.metafile, others.metafile]), ...native],
  }
}

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Error classes and commands are known by their names, at run time too.
  keepNames: true,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'external',
  metafile: true,
  logLevel: 'silent',
} as const satisfies BuildOptions

/** A function of what Node gives a CommonJS module, for `launcher.cjs` to call. */
function programOptions(folder: string, define: Record<string, string>) {
  return {
    ...commonJs(define),
    stdin: { contents: programSource('./packages/cli/src/main.ts'), resolveDir: root },
    outfile: path.join(folder, 'program.cjs'),
    ...asFunction,
    plugins: [leftOut, lazyIndexes, lazyUndici, unusedModules, lazyBuiltins],
  } satisfies BuildOptions
}

/** What only `lateen server` and commands that do a server's work load. */
function serverOptions(folder: string, define: Record<string, string>) {
  return {
    ...commonJs(define),
    entryPoints: ['packages/server/src/index.ts'],
    outfile: path.join(folder, 'server-program.cjs'),
    ...asFunction,
    plugins: [fromProgram],
  } satisfies BuildOptions
}

const ownAddress = `const __url = require('node:url').pathToFileURL(__filename).href`

const asFunction = {
  banner: { js: `(function (exports, require, module, __filename, __dirname) {\n${ownAddress}` },
  footer: { js: '})' },
}

function commonJs(define: Record<string, string>) {
  return {
    ...common,
    format: 'cjs',
    minifyIdentifiers: true,
    define: { ...define, 'import.meta.url': '__url', 'import.meta.dirname': '__dirname' },
    // What is loaded lazily goes through require(): Node's other loader takes longer to wake up than most commands to run.
    supported: { 'dynamic-import': false },
  } as const satisfies BuildOptions
}

/** What runs as a program or thread of its own, or is too large for a program that hardly ever needs it. */
function otherOptions(folder: string, define: Record<string, string>) {
  return {
    ...common,
    entryPoints: [
      { in: 'packages/cli/src/repo-main.ts', out: 'lateen-repo' },
      { in: 'packages/server/src/entry/restore-helper-main.ts', out: 'restore-helper' },
      { in: 'packages/repo/src/threads/sealing-thread.ts', out: 'sealing-thread' },
      { in: 'packages/repo/src/snapshot/restore-writer-thread.ts', out: 'restore-writer-thread' },
      { in: 'tools/bundle/client-node.ts', out: 'client-node' },
    ],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    chunkNames: '[name]-[hash]',
    splitting: true,
    format: 'esm',
    // CommonJS packages inside the bundle find Node's own modules through this.
    banner: {
      js: `import { createRequire as __createRequire } from 'node:module'\nconst require = __createRequire(import.meta.url)`,
    },
    define: { ...define, __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' },
    plugins: [lazyPackages],
  } as const satisfies BuildOptions
}

/** Files that esbuild has looked at and left out are not among them, and neither are those that its plugins made up. */
function usedSources(metafiles: readonly Metafile[]): string[] {
  const used = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([source, { bytesInOutput }]) => (bytesInOutput > 0 ? [source] : [])),
    ),
  )
  return [...new Set(used)].filter(source => !/^[\w-]+:/.test(source)).sort((a, b) => (a < b ? -1 : 1))
}

/** esbuild leaves other characters in regular expressions, where they may be escaped as well. ASCII takes V8 half the memory. */
async function escapeNonAscii(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const escaped = text.replaceAll(
    /[\u0080-\uffff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  await writeFile(file, escaped)
}

async function workspaceVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string }
  return manifest.version
}
