import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { type Image, writeImageArchive } from './oci-image.ts'
import { parseTar, type TarFile } from './tar.ts'

const image: Image = {
  name: 'localhost/example:one',
  architecture: 'amd64',
  files: [
    { path: '/bin/tool', content: 'x'.repeat(2000), mode: 0o755 },
    { path: '/bin/alias', linkTo: 'tool' },
  ],
  config: {
    entrypoint: ['/bin/tool'],
    command: ['--all'],
    env: { PATH: '/bin', A: 'b=c' },
    user: '65532',
    workdir: '/tmp',
    labels: { title: 'example' },
  },
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-image-'))
  return await use(folder.path)
}

async function archiveOf(from: Image): Promise<{ digest: string; bytes: Buffer }> {
  return await inFolder(async folder => {
    const digest = await writeImageArchive(from, path.join(folder, 'image.tar'))
    return { digest, bytes: await readFile(path.join(folder, 'image.tar')) }
  })
}

interface Descriptor {
  digest: string
  size: number
  annotations?: Record<string, string>
}

/** Follows a descriptor to its blob, as a reader of the layout does, and checks size and digest on the way. */
function blobOf(entries: TarFile[], { digest, size }: Descriptor): Buffer {
  const file = entries.find(entry => entry.path === `blobs/${digest.replace(':', '/')}`)
  assert.ok(file, `no blob ${digest}`)
  assert.equal(file.size, size)
  assert.equal(`sha256:${createHash('sha256').update(file.content).digest('hex')}`, digest)
  return Buffer.from(file.content)
}

function json<T>(entries: TarFile[], name: string): T {
  const file = entries.find(entry => entry.path === name)
  assert.ok(file, `no ${name}`)
  return JSON.parse(Buffer.from(file.content).toString()) as T
}

describe('an image archive', () => {
  it('is an OCI layout: index, manifest, configuration and layer lead to each other by digest', async () => {
    const { digest, bytes } = await archiveOf(image)
    const entries = parseTar(bytes)
    assert.deepEqual(json(entries, 'oci-layout'), { imageLayoutVersion: '1.0.0' })
    const [found] = json<{ manifests: Descriptor[] }>(entries, 'index.json').manifests
    assert.equal(found?.digest, digest)
    assert.equal(found?.annotations?.['io.containerd.image.name'], image.name)
    const manifest = JSON.parse(blobOf(entries, found as Descriptor).toString()) as {
      config: Descriptor
      layers: Descriptor[]
    }
    const config = JSON.parse(blobOf(entries, manifest.config).toString())
    const layer = parseTar(blobOf(entries, manifest.layers[0] as Descriptor))
    assert.deepEqual(config.rootfs, { type: 'layers', diff_ids: [manifest.layers[0]?.digest] })
    assert.deepEqual(config.config, {
      Entrypoint: ['/bin/tool'],
      Cmd: ['--all'],
      Env: ['PATH=/bin', 'A=b=c'],
      User: '65532',
      WorkingDir: '/tmp',
      Labels: { title: 'example' },
    })
    assert.deepEqual(
      layer.map(entry => entry.path),
      ['bin', 'bin/alias', 'bin/tool'],
    )
    assert.equal(Buffer.from(layer[2]?.content ?? []).toString(), 'x'.repeat(2000))
  })

  it('is a docker-archive: manifest.json names configuration, tag and layer', async () => {
    const entries = parseTar((await archiveOf(image)).bytes)
    const [manifest] = json<{ Config: string; RepoTags: string[]; Layers: string[] }[]>(
      entries,
      'manifest.json',
    )
    assert.deepEqual(manifest?.RepoTags, [image.name])
    for (const name of [manifest?.Config, ...(manifest?.Layers ?? [])]) {
      assert.ok(
        entries.some(entry => entry.path === name),
        name,
      )
    }
  })

  it('has the same bytes each time, whatever the order of the file list', async () => {
    const again = { ...image, files: image.files.toReversed() }
    assert.deepEqual((await archiveOf(again)).bytes, (await archiveOf(image)).bytes)
  })

  it('leaves nothing behind when a source cannot be read', async () => {
    await inFolder(async folder => {
      const broken = { ...image, files: [{ path: '/a', from: path.join(folder, 'missing') }] }
      await assert.rejects(writeImageArchive(broken, path.join(folder, 'image.tar')), { code: 'ENOENT' })
      assert.deepEqual(await readdir(folder), [])
    })
  })

  it('leaves nothing behind when it is stopped', async () => {
    await inFolder(async folder => {
      await writeFile(path.join(folder, 'source'), 'x')
      const files = [{ path: '/a', from: path.join(folder, 'source') }]
      const stopped = AbortSignal.abort()
      await assert.rejects(writeImageArchive({ ...image, files }, path.join(folder, 'image.tar'), stopped), {
        name: 'AbortError',
      })
      assert.deepEqual(await readdir(folder), ['source'])
    })
  })
})
