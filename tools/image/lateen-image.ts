import { access, realpath } from 'node:fs/promises'
import tls from 'node:tls'
import { tool } from '../binaries/tool.ts'
import type { Bundle } from '../bundle/bundle.ts'
import type { ImageFile } from './image-file.ts'
import type { Image, ImageConfig } from './oci-image.ts'
import { sharedLibraries } from './shared-libraries.ts'

/** The name under which the image of Lateen's own pods is imported. */
export const lateenImageName = 'localhost/lateen:test'

export interface LateenImageOptions {
  bundle: Bundle
  /** The Node binary on this machine; the one that runs this code when absent. */
  node?: string
  /** The restic program on this machine, for volumes that old releases of Velero backed up; Debian's when absent. */
  restic?: string
  name?: string
}

/** Where the bundle lies in the image. */
const home = '/opt/lateen'

/** Nobody, with a number that no other image uses for somebody. */
const user = 65532

/**
 * The environment of the program in the image. Measured with backups of 14,560 and 100,000 objects: a third less memory, no more time. V8
 * would let its young generation grow to 128 MiB, and glibc keeps what worker threads of the system have freed.
 */
export const littleMemory = {
  NODE_OPTIONS: '--max-semi-space-size=4',
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
}

/**
 * The image of the server, node agent and data mover: Node, restic, the libraries they need, and the bundle. Besides `/lateen` the program is there as
 * `/velero`, and its helper as `/velero-restore-helper`: the names that manifests made for Velero, and pods restored by it, call. Nothing
 * in it needs to be written to, and every user may run it: `deploy/Dockerfile` makes the same image out of the same list.
 * Throws a ToolError where restic cannot be had.
 */
export async function lateenImage(options: LateenImageOptions): Promise<Image> {
  const { bundle, node = process.execPath, name = lateenImageName } = options
  const restic = await realpath(options.restic ?? (await tool('restic')))
  const needed = new Set([...(await sharedLibraries(node)), ...(await sharedLibraries(restic))])
  const libraries = await Promise.all([...needed].map(async path => ({ path, from: await realpath(path) })))
  const files: ImageFile[] = [
    { path: '/usr/local/bin/node', from: await realpath(node), mode: 0o755 },
    { path: '/usr/bin/restic', from: restic, mode: 0o755 },
    ...(await resticLicense()),
    ...libraries,
    ...bundle.files.map(file => ({ path: `${home}/${file.path}`, from: file.from })),
    { path: '/lateen', content: program(bundle.entry), mode: 0o755 },
    { path: '/velero', linkTo: 'lateen' },
    { path: '/velero-restore-helper', content: program(bundle.restoreHelperEntry), mode: 0o755 },
    ...systemFiles,
  ]
  return { name, files, config: { ...lateenImageConfig, labels: labelsOf(bundle) } }
}

/** What Debian says of restic's license, which asks to be passed on with the program. */
async function resticLicense(): Promise<ImageFile[]> {
  const file = '/usr/share/doc/restic/copyright'
  return access(file).then(
    () => [{ path: file, from: file }],
    () => [],
  )
}

/** A program that runs a file of the bundle. */
function program(entry: string): string {
  const load = entry.endsWith('.cjs') ? 'require' : 'import'
  return `#!/usr/local/bin/node\n${load}('${home}/${entry}')\n`
}

/** What Node, and plugins beside it, look for in a system. */
const systemFiles: readonly ImageFile[] = [
  {
    path: '/etc/passwd',
    content: `root:x:0:0:root:/root:/sbin/nologin\nlateen:x:${user}:${user}:lateen:/home/lateen:/sbin/nologin\n`,
  },
  { path: '/etc/group', content: `root:x:0:\nlateen:x:${user}:\n` },
  { path: '/etc/nsswitch.conf', content: 'hosts: files dns\n' },
  // Those that Node trusts, for plugins: the same in every image, whatever the machine that makes it trusts.
  { path: '/etc/ssl/certs/ca-certificates.crt', content: `${tls.rootCertificates.join('\n')}\n` },
  { path: '/home/lateen', directory: true, mode: 0o777 },
  { path: '/tmp', directory: true, mode: 0o1777 },
]

/** How a container of the image starts; `deploy/Dockerfile` says the same. */
export const lateenImageConfig = {
  entrypoint: ['/lateen'],
  env: { PATH: '/usr/local/bin:/usr/bin:/', HOME: '/home/lateen', ...littleMemory },
  user: `${user}:${user}`,
  workdir: '/',
} as const satisfies ImageConfig

function labelsOf({ version }: Bundle): Record<string, string> {
  return { 'org.opencontainers.image.title': 'lateen', 'org.opencontainers.image.version': version }
}
