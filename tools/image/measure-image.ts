import { execFile } from 'node:child_process'
import { mkdtempDisposable, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { planLayer } from './image-file.ts'
import type { Image } from './oci-image.ts'
import { layerBytes } from './oci-image.ts'
import { writeRootfs } from './write-rootfs.ts'

const RUNS = 9

/** What Lateen's image weighs, unpacked and as a registry sends it, and how long its program takes to say its version here. */
export async function measureImage(image: Image): Promise<string[]> {
  const parts = new Map<string, number>()
  for (const { entry } of await planLayer(image.files)) {
    const part = entry.path.startsWith('opt/')
      ? 'program'
      : entry.path.endsWith('bin/node')
        ? 'Node'
        : entry.path.endsWith('bin/restic')
          ? 'restic'
          : 'libraries and rest'
    parts.set(part, (parts.get(part) ?? 0) + entry.size)
  }
  const total = [...parts.values()].reduce((sum, size) => sum + size, 0)
  const shares = [...parts].map(([part, size]) => `${part} ${mebibytes(size)}`)
  return [
    `unpacked ${mebibytes(total)} (${shares.join(', ')}), compressed with gzip ${mebibytes(await compressedSize(image))}`,
    `starts in ${(await startTime(image)).toFixed(0)} ms (\`lateen version --client-only\`, median of ${RUNS} on this machine)`,
  ]
}

async function compressedSize(image: Image): Promise<number> {
  const gzip = createGzip()
  let size = 0
  const counted = (async () => {
    for await (const chunk of gzip as AsyncIterable<Buffer>) size += chunk.length
  })()
  for await (const chunk of layerBytes(await planLayer(image.files))) {
    if (!gzip.write(chunk)) await new Promise(resolve => gzip.once('drain', resolve))
  }
  gzip.end()
  await counted
  return size
}

/** With the files and the environment of the image, not in a container. */
async function startTime(image: Image): Promise<number> {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-rootfs-'))
  await writeRootfs(
    { ...image, files: image.files.filter(({ path: name }) => name.startsWith('/opt/')) },
    folder.path,
  )
  const program = path.join(folder.path, 'opt/lateen/lateen.cjs')
  await stat(program)
  const times: number[] = []
  for (let run = 0; run < RUNS; run += 1) {
    const started = performance.now()
    await promisify(execFile)(process.execPath, [program, 'version', '--client-only'], {
      env: { ...image.config.env },
    })
    times.push(performance.now() - started)
  }
  return times.sort((a, b) => a - b)[RUNS >> 1] ?? Number.NaN
}

function mebibytes(size: number): string {
  return `${(size / 2 ** 20).toFixed(1)} MiB`
}
