import { readdir, realpath } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from '../binaries/cache-folder.ts'
import { installDebianPackages } from '../binaries/install-debian-package.ts'
import { withMachineLock } from '../binaries/machine-lock.ts'
import { runCommand } from '../binaries/run-command.ts'
import { unpackDebianPackage, unpackedFolder } from '../binaries/unpack-debian-package.ts'
import { busyboxImage } from './busybox-image.ts'
import { ImageError } from './image-error.ts'
import type { ImageFile } from './image-file.ts'
import type { Image } from './oci-image.ts'
import { sharedLibraries } from './shared-libraries.ts'

/** The name under which the database's image is imported. */
export const postgresImageName = 'localhost/lateen-postgres:test'

/** Who the server runs as: it refuses to be root. */
const user = 999

const programs = ['postgres', 'initdb', 'psql', 'pg_isready']

/**
 * An image with Debian's PostgreSQL, a shell beside it, and nothing that starts by itself. Its packages are unpacked into the cache, and neither installed nor
 * started here. Throws ToolError where Debian's packages cannot be had.
 */
export async function postgresImage(busybox?: string): Promise<Image> {
  const { version, server, client } = await unpackedPostgres()
  const home = `usr/lib/postgresql/${version}`
  const bin = path.join(server, home, 'bin')
  const binaries = programs.map(name => ({
    path: `/${home}/bin/${name}`,
    from: path.join(name === 'psql' || name === 'pg_isready' ? path.join(client, home, 'bin') : bin, name),
    mode: 0o755,
  }))
  const base = await busyboxImage(busybox === undefined ? {} : { busybox })
  const files: ImageFile[] = [
    ...base.files.filter(file => file.path !== '/etc/passwd' && file.path !== '/etc/group'),
    ...binaries,
    ...(await libraries(
      binaries.map(({ from }) => from),
      version,
    )),
    // Those of the JIT compiler would bring a compiler with them.
    ...(await filesBelow(server, `${home}/lib`, name => name.endsWith('.so') && !name.startsWith('llvmjit'))),
    ...(await filesBelow(server, `usr/share/postgresql/${version}`, () => true)),
    {
      path: '/etc/passwd',
      content: `root:x:0:0:root:/root:/bin/sh\npostgres:x:${user}:${user}:postgres:/tmp:/bin/sh\n`,
    },
    { path: '/etc/group', content: `root:x:0:\npostgres:x:${user}:\n` },
  ]
  const env = { PATH: `/${home}/bin:/bin`, PGHOST: '/tmp', PGUSER: 'postgres' }
  return { name: postgresImageName, files, config: { ...base.config, env, user: `${user}:${user}` } }
}

interface UnpackedPostgres {
  version: string
  server: string
  client: string
}

async function unpackedPostgres(): Promise<UnpackedPostgres> {
  return withMachineLock(path.join(cacheFolder(), 'build.lock'), async () => {
    const version = (await cachedVersion()) ?? (await debianVersion())
    const names = { client: `postgresql-client-${version}`, server: `postgresql-${version}` }
    const cached = await cachedPackages()
    for (const name of Object.values(names)) if (!cached.includes(name)) await unpackDebianPackage(name)
    return { version, server: unpackedFolder(names.server), client: unpackedFolder(names.client) }
  })
}

async function cachedPackages(): Promise<string[]> {
  return readdir(path.dirname(unpackedFolder('any'))).catch(() => [])
}

async function cachedVersion(): Promise<string | undefined> {
  const found = (await cachedPackages()).map(name => /^postgresql-(\d+)$/.exec(name)?.[1])
  return found.find(version => version !== undefined)
}

/** Which one the release of Debian has: the package `postgresql` depends on it. */
async function debianVersion(): Promise<string> {
  const ask = async () => {
    const text = await runCommand('apt-cache', ['depends', 'postgresql'])
    return /Depends: postgresql-(\d+)$/m.exec(text)?.[1]
  }
  const known = await ask().catch(() => undefined)
  if (known !== undefined) return known
  await runCommand('apt-get', ['-qq', 'update'])
  const version = await ask()
  if (version !== undefined) return version
  throw new ImageError('IMAGE_PROGRAM_UNUSABLE', 'apt-get knows no package postgresql', {
    hint: 'only Debian and its relatives have it as a package',
  })
}

/** What the programs are linked with. Libraries that this machine lacks are installed: unlike the server they start nothing. */
async function libraries(binaries: readonly string[], version: string): Promise<ImageFile[]> {
  const find = async () => (await Promise.all(binaries.map(sharedLibraries))).flat()
  const found = await find().catch(async (error: unknown) => {
    if (!(error instanceof ImageError)) throw error
    await installDebianPackages(await libraryPackages(version))
    return find()
  })
  return Promise.all([...new Set(found)].map(async file => ({ path: file, from: await realpath(file) })))
}

async function libraryPackages(version: string): Promise<string[]> {
  const names = [`postgresql-${version}`, `postgresql-client-${version}`]
  const depends = await Promise.all(names.map(name => runCommand('apt-cache', ['depends', name])))
  const needed = [...depends.join('\n').matchAll(/^ *Depends: (lib\S+)$/gm)].map(([, name = '']) => name)
  return [...new Set(needed)].filter(name => !name.startsWith('libllvm'))
}

async function filesBelow(
  root: string,
  folder: string,
  wanted: (name: string) => boolean,
): Promise<ImageFile[]> {
  const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile() && wanted(entry.name))
    .map(entry => {
      const from = path.join(entry.parentPath, entry.name)
      return { path: `/${path.relative(root, from)}`, from }
    })
}
