import assert from 'node:assert/strict'
import { readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { ImageFile } from './image-file.ts'
import { lateenImage, lateenImageConfig } from './lateen-image.ts'
import { parseDockerfile } from './parse-dockerfile.ts'
import { sharedLibraries } from './shared-libraries.ts'

const isLinux = process.platform === 'linux'

const bundle = {
  version: '1.2.3',
  entry: 'lateen.cjs',
  repoEntry: 'lateen-repo.mjs',
  restoreHelperEntry: 'restore-helper.mjs',
  files: ['lateen.cjs', 'restore-helper.mjs'].map(name => ({ path: name, from: import.meta.filename })),
  sources: [],
}

describe('the image of Lateen', { skip: isLinux ? false : 'images are made from Linux programs' }, () => {
  const image = async () => {
    const made = await lateenImage({ bundle, restic: process.execPath })
    return { ...made, at: new Map(made.files.map(file => [file.path, file])) }
  }
  const modeOf = (file: ImageFile | undefined) =>
    file !== undefined && 'mode' in file ? file.mode : undefined

  it('holds the Node that makes it, each library that Node needs, and the bundle', async () => {
    const { at } = await image()
    const node = at.get('/usr/local/bin/node')
    assert.ok(node !== undefined && 'from' in node && node.from === (await realpath(process.execPath)))
    for (const library of await sharedLibraries(process.execPath)) assert.ok(at.has(library), library)
    for (const name of bundle.files.map(file => file.path)) assert.ok(at.has(`/opt/lateen/${name}`), name)
  })

  it('holds restic where the program finds it', async () => {
    const { at, config } = await image()
    const restic = at.get('/usr/bin/restic')
    assert.ok(restic !== undefined && 'from' in restic && restic.from === (await realpath(process.execPath)))
    assert.equal(modeOf(restic), 0o755)
    assert.ok(config.env?.PATH?.split(':').includes('/usr/bin'))
  })

  it('has the program and its helper under the names that Velero has for them, for every user to run', async () => {
    const { at } = await image()
    const velero = at.get('/velero')
    assert.ok(velero !== undefined && 'linkTo' in velero && velero.linkTo === 'lateen')
    for (const name of ['/lateen', '/velero-restore-helper']) {
      const file = at.get(name)
      assert.equal(modeOf(file), 0o755)
      assert.ok(file !== undefined && 'content' in file && file.content.startsWith('#!/usr/local/bin/node\n'))
    }
  })

  it('lets nobody but root write anything but temporary files and the home of its user', async () => {
    const { files } = await image()
    const writable = files.filter(file => ((modeOf(file) ?? 0) & 0o022) !== 0).map(file => file.path)
    assert.deepEqual(writable, ['/home/lateen', '/tmp'])
  })

  it('trusts the authorities that Node trusts, for plugins', async () => {
    const { at } = await image()
    const file = at.get('/etc/ssl/certs/ca-certificates.crt')
    assert.ok(file !== undefined && 'content' in file)
    assert.ok((file.content.match(/-----BEGIN CERTIFICATE-----/g) ?? []).length > 100)
  })

  it('tells its version', async () => {
    const { config } = await image()
    assert.equal(config.labels?.['org.opencontainers.image.version'], '1.2.3')
  })
})

describe('deploy/Dockerfile', () => {
  const root = path.join(import.meta.dirname, '..', '..')

  it('makes the same image: the files that the builder writes and nothing else, started in the same way', async () => {
    const stages = parseDockerfile(await readFile(path.join(root, 'deploy', 'Dockerfile'), 'utf8'))
    const [build, image] = stages
    assert.equal(stages.length, 2)
    const { dependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'))
    assert.equal(build?.from, `node:${dependencies.node.split('.')[0]}-slim AS build`)
    assert.deepEqual(
      build?.instructions.filter(({ name }) => name === 'RUN').map(({ text }) => text),
      [
        'apt-get update && apt-get install -y --no-install-recommends restic',
        'npm ci && npm run image -- rootfs /rootfs',
      ],
    )
    assert.equal(image?.from, 'scratch')
    assert.deepEqual(
      image?.instructions.filter(({ name }) => !['ENV', 'USER', 'WORKDIR', 'ENTRYPOINT'].includes(name)),
      [{ name: 'COPY', text: '--from=build /rootfs/ /' }],
    )
    const text = (name: string) =>
      image?.instructions.filter(each => each.name === name).map(each => each.text) ?? []
    const env = text('ENV')
      .flatMap(line => line.split(' '))
      .map(pair => pair.split(/=(.*)/s).slice(0, 2))
    assert.deepEqual(Object.fromEntries(env), lateenImageConfig.env)
    assert.deepEqual(text('USER'), [lateenImageConfig.user])
    assert.deepEqual(text('WORKDIR'), [lateenImageConfig.workdir])
    assert.deepEqual(
      text('ENTRYPOINT').map(line => JSON.parse(line)),
      [lateenImageConfig.entrypoint],
    )
  })
})
