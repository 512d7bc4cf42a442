import { chmod, mkdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'
import { gitCommit } from '../../packages/cli/src/build-info.ts'
import { lazyPackages } from './lazy-packages.ts'

/** The program as files that need nothing beside them but Node. */
export interface Bundle {
  version: string
  /** The file to run, relative to the bundle's folder. */
  entry: string
  /** The one of `lateen-repo`. */
  repoEntry: string
  files: { path: string; from: string }[]
}

const root = path.join(import.meta.dirname, '..', '..')
const entry = 'lateen.mjs'
const repoEntry = 'lateen-repo.mjs'

/**
 * Bundles the command lines with all that they can load into `folder`, which is replaced. What is imported lazily lies in chunks of its
 * own, so that a command loads only what it uses. Throws esbuild's BuildFailure with the places of the errors.
 */
export async function bundleLateen(folder: string = path.join(root, 'dist')): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'packages/cli/src/main.ts', out: path.basename(entry, '.mjs') },
      { in: 'packages/cli/src/repo-main.ts', out: path.basename(repoEntry, '.mjs') },
      // Beside the chunks, because the code that starts threads is in one of them.
      { in: 'packages/repo/src/threads/sealing-thread.ts', out: 'chunks/sealing-thread' },
      { in: 'packages/repo/src/snapshot/restore-writer-thread.ts', out: 'chunks/restore-writer-thread' },
    ],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Error classes and commands are known by their names, at run time too.
    keepNames: true,
    legalComments: 'eof',
    // CommonJS packages inside the bundle find Node's own modules through this.
    banner: {
      js: `import { createRequire as __createRequire } from 'node:module'\nconst require = __createRequire(import.meta.url)`,
    },
    define: {
      __dirname: 'import.meta.dirname',
      __filename: 'import.meta.filename',
      'globalThis.lateenCommit': JSON.stringify(await gitCommit(root)),
      'globalThis.lateenBundled': 'true',
    },
    plugins: [lazyPackages],
    metafile: true,
    logLevel: 'silent',
  })
  for (const file of [entry, repoEntry]) await chmod(path.join(folder, file), 0o755)
  const outputs = Object.keys(metafile.outputs).map(file => path.resolve(root, file))
  const files = outputs.map(from => ({ path: path.relative(folder, from).split(path.sep).join('/'), from }))
  files.sort((a, b) => (a.path < b.path ? -1 : 1))
  return { version: await workspaceVersion(), entry, repoEntry, files }
}

async function workspaceVersion(): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string }
  return manifest.version
}
