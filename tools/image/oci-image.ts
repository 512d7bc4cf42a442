import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { ImageError } from './image-error.ts'
import { type ImageFile, type LayerEntry, planLayer } from './image-file.ts'
import { serializeTarHeader, tarEnd, tarPadding } from './tar.ts'

/** What a container of the image starts as. */
export interface ImageConfig {
  entrypoint?: readonly string[]
  command?: readonly string[]
  env?: Readonly<Record<string, string>>
  user?: string
  workdir?: string
  labels?: Record<string, string>
}

/** An image as a file list: one layer. */
export interface Image {
  /** With registry and tag, for example `localhost/lateen:test`. */
  name: string
  files: ImageFile[]
  config: ImageConfig
  /** As Go names it; that of this machine when absent. */
  architecture?: string
}

interface Blob {
  digest: string
  size: number
}

const mediaType = {
  config: 'application/vnd.oci.image.config.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
}

/**
 * Writes an image as a tar file that is both an OCI image layout and a docker-archive: `ctr images import`, `docker load` and
 * `skopeo` take it. The same files give the same bytes. Files are streamed, twice: once for the digest that
 * the archive must name before the layer. Appears under `target` only when complete. Resolves to the digest of the
 * manifest. Throws ImageError `IMAGE_SOURCE_CHANGED` when a file changes meanwhile, and what the file system throws.
 */
export async function writeImageArchive(image: Image, target: string, signal?: AbortSignal): Promise<string> {
  const layer = await planLayer(image.files)
  const layerBlob = await digestOf(layerBytes(layer))
  const config = jsonBlob(imageConfig(image, layerBlob))
  const manifest = jsonBlob(imageManifest(config, layerBlob))
  const partial = `${target}.${process.pid}.partial`
  try {
    const bytes = archiveBytes({ image, layer, layerBlob, config, manifest })
    await pipeline(bytes, createWriteStream(partial), { ...(signal === undefined ? {} : { signal }) })
    await rename(partial, target)
  } finally {
    await rm(partial, { force: true })
  }
  return manifest.digest
}

interface ArchiveParts {
  image: Image
  layer: LayerEntry[]
  layerBlob: Blob
  config: JsonBlob
  manifest: JsonBlob
}

async function* archiveBytes({
  image,
  layer,
  layerBlob,
  config,
  manifest,
}: ArchiveParts): AsyncGenerator<Uint8Array> {
  yield serializeTarHeader({ path: 'blobs', type: 'directory', mode: 0o755, size: 0 })
  yield serializeTarHeader({ path: 'blobs/sha256', type: 'directory', mode: 0o755, size: 0 })
  yield* jsonFile(blobPath(config), config.text)
  yield* jsonFile(blobPath(manifest), manifest.text)
  yield serializeTarHeader({ path: blobPath(layerBlob), type: 'file', mode: 0o644, size: layerBlob.size })
  yield* unchanged(layerBytes(layer), layerBlob)
  yield new Uint8Array(tarPadding(layerBlob.size))
  yield* jsonFile('index.json', JSON.stringify(layoutIndex(image, manifest)))
  yield* jsonFile('manifest.json', JSON.stringify(dockerManifest(image, config, layerBlob)))
  yield* jsonFile('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  yield tarEnd
}

/** The bytes of the layer that `planLayer` plans. */
export async function* layerBytes(layer: LayerEntry[]): AsyncGenerator<Uint8Array> {
  for (const { entry, bytes } of layer) {
    yield serializeTarHeader(entry)
    if ('content' in bytes) yield bytes.content
    else yield* fileBytes(bytes.from, entry.size)
    yield new Uint8Array(tarPadding(entry.size))
  }
  yield tarEnd
}

async function* fileBytes(from: string, size: number): AsyncGenerator<Uint8Array> {
  let read = 0
  for await (const chunk of createReadStream(from, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>) {
    read += chunk.length
    if (read > size) break
    yield chunk
  }
  if (read !== size)
    throw new ImageError('IMAGE_SOURCE_CHANGED', `${from} changed its size while it was read`)
}

async function* unchanged(bytes: AsyncIterable<Uint8Array>, expected: Blob): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of bytes) {
    hash.update(chunk)
    yield chunk
  }
  if (`sha256:${hash.digest('hex')}` !== expected.digest) {
    throw new ImageError('IMAGE_SOURCE_CHANGED', 'a file of the image changed while the image was written')
  }
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<Blob> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of bytes) {
    hash.update(chunk)
    size += chunk.length
  }
  return { digest: `sha256:${hash.digest('hex')}`, size }
}

interface JsonBlob extends Blob {
  text: string
}

function jsonBlob(value: unknown): JsonBlob {
  const text = JSON.stringify(value)
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  return { digest, size: Buffer.byteLength(text), text }
}

function* jsonFile(path: string, text: string): Generator<Uint8Array> {
  const content = Buffer.from(text)
  yield serializeTarHeader({ path, type: 'file', mode: 0o644, size: content.length })
  yield content
  yield new Uint8Array(tarPadding(content.length))
}

function blobPath({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`
}

// The image specification of OCI 1.0, "Image Configuration" and "Image Manifest".
function imageConfig({ config, architecture }: Image, layer: Blob): unknown {
  return {
    created: new Date(0).toISOString(),
    architecture: architecture ?? (process.arch === 'x64' ? 'amd64' : process.arch),
    os: 'linux',
    config: {
      Entrypoint: config.entrypoint,
      Cmd: config.command,
      Env: Object.entries(config.env ?? {}).map(([name, value]) => `${name}=${value}`),
      User: config.user,
      WorkingDir: config.workdir,
      Labels: config.labels,
    },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
    history: [{ created: new Date(0).toISOString(), created_by: 'a list of files' }],
  }
}

function imageManifest(config: Blob, layer: Blob): unknown {
  return {
    schemaVersion: 2,
    mediaType: mediaType.manifest,
    config: { mediaType: mediaType.config, digest: config.digest, size: config.size },
    layers: [{ mediaType: mediaType.layer, digest: layer.digest, size: layer.size }],
  }
}

/** containerd takes the image's name from an annotation of its own, others from the one of the specification. */
function layoutIndex({ name }: Image, manifest: Blob): unknown {
  const annotations = {
    'io.containerd.image.name': name,
    'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
  }
  const { digest, size } = manifest
  return { schemaVersion: 2, manifests: [{ mediaType: mediaType.manifest, digest, size, annotations }] }
}

function dockerManifest({ name }: Image, config: Blob, layer: Blob): unknown {
  return [{ Config: blobPath(config), RepoTags: [name], Layers: [blobPath(layer)] }]
}
