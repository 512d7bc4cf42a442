import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { cachedBundle } from '../bundle/cached-bundle.ts'
import { sharedLibraries } from '../image/shared-libraries.ts'
import { npmComponents } from './npm-components.ts'
import { sbomOf } from './sbom.ts'

const root = path.join(import.meta.dirname, '..', '..')
const isLinux = process.platform === 'linux'

describe('the list of components', {
  skip: isLinux ? false : 'images are made from Linux programs',
}, async () => {
  const bundle = await cachedBundle()
  const sbom = await sbomOf(bundle, new Date('2026-01-02T03:04:05Z'))
  const npm = sbom.components.filter(each => each.purl?.startsWith('pkg:npm/'))
  const fullName = ({ group, name }: { group?: string; name: string }) =>
    group === undefined ? name : `${group}/${name}`

  it('names every npm package of which there is code in the bundle, and no other', async () => {
    // A second look, at text that esbuild leaves in a file: before each module it has wrapped stands its path.
    const text = await Promise.all(
      bundle.files
        .filter(({ path: name }) => /\.[cm]js$/.test(name))
        .map(({ from }) => readFile(from, 'utf8')),
    )
    const wrapped = new Set(
      text.flatMap(each =>
        [...each.matchAll(/"node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\/[^"]*"\((?:exports|module|\))/g)].map(
          ([, name]) => name,
        ),
      ),
    )
    const listed = new Set(npm.map(fullName))
    assert.ok(wrapped.size > 10, `${wrapped.size} packages have left their paths`)
    assert.deepEqual([...wrapped.difference(listed)], [])
    const sources = new Set(
      bundle.sources.flatMap(
        source => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(source)?.[1] ?? [],
      ),
    )
    assert.deepEqual(listed, sources)
    for (const leftOut of ['esbuild', 'typescript', '@biomejs/biome', 'fast-check', 'node'])
      assert.ok(!listed.has(leftOut), leftOut)
  })

  it('gives the version that lies in node_modules, with licence and digest', async () => {
    for (const component of npm) {
      const manifest = path.join(root, component['bom-ref'].replace(/^npm:/, ''), 'package.json')
      const { name, version, license } = JSON.parse(await readFile(manifest, 'utf8'))
      assert.deepEqual([fullName(component), component.version], [name, version])
      assert.deepEqual(component.licenses, [{ expression: license }], name)
      assert.match(component.hashes?.[0]?.content ?? '', /^[0-9a-f]{40,128}$/, name)
      assert.equal(component.purl, `pkg:npm/${name.replace('@', '%40')}@${version}`)
    }
  })

  it('names Node and the OpenSSL in it', () => {
    const node = sbom.components.find(each => each['bom-ref'] === 'node')
    assert.equal(`v${node?.version}`, process.version)
    const openssl = sbom.components.find(each => each['bom-ref'] === 'node:openssl')
    assert.match(openssl?.version ?? '', /^\d+\.\d+\.\d+/)
  })

  it('names restic, as dpkg knows it where it does', async () => {
    const restic = sbom.components.find(({ type, name }) => type === 'application' && /restic$/.test(name))
    assert.ok(restic)
    if (!restic['bom-ref'].startsWith('deb:')) return
    const { stdout } = await promisify(execFile)('dpkg', ['-s', 'restic'])
    assert.equal(/^Version: (.+)$/m.exec(stdout)?.[1], restic.version)
  })

  it('names the origin of each shared library, as dpkg tells it where there is one', async () => {
    const owners = new Map(
      sbom.components.flatMap(each =>
        (each.properties ?? [])
          .filter(({ name }) => name === 'lateen:file')
          .map(({ value }) => [value, each] as const),
      ),
    )
    for (const library of await sharedLibraries(process.execPath)) {
      const owner = owners.get(library)
      assert.ok(owner, library)
      if (!owner['bom-ref'].startsWith('deb:')) continue
      const { stdout } = await promisify(execFile)('dpkg', ['-s', owner.name])
      assert.equal(/^Version: (.+)$/m.exec(stdout)?.[1], owner.version)
      assert.match(owner.purl ?? '', /^pkg:deb\/debian\/.+@.+\?arch=\w+$/)
    }
  })

  it('has what CycloneDX 1.6 requires: known form, types and names, references that are unique and lead somewhere', () => {
    assert.deepEqual([sbom.bomFormat, sbom.specVersion, sbom.version], ['CycloneDX', '1.6', 1])
    assert.match(sbom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    assert.equal(sbom.metadata.timestamp, '2026-01-02T03:04:05.000Z')
    const all = [sbom.metadata.component, ...sbom.components]
    for (const component of all) {
      assert.ok(['application', 'library', 'platform'].includes(component.type))
      assert.ok(component.name !== '' && component.version !== '', component['bom-ref'])
    }
    const references = all.map(each => each['bom-ref'])
    assert.equal(new Set(references).size, references.length)
    assert.deepEqual(new Set(sbom.dependencies.map(({ ref }) => ref)), new Set(references))
    for (const { ref, dependsOn } of sbom.dependencies) {
      for (const needed of dependsOn) assert.ok(references.includes(needed), `${ref} needs ${needed}`)
    }
  })

  it('reaches every component from the program', () => {
    const edges = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
    const reached = new Set(['lateen'])
    for (const ref of reached) for (const needed of edges.get(ref) ?? []) reached.add(needed)
    assert.deepEqual(reached, new Set(edges.keys()))
  })

  it('is the same for the same content, but for its time', async () => {
    const later = await sbomOf(bundle, new Date('2027-01-01T00:00:00Z'))
    assert.equal(later.serialNumber, sbom.serialNumber)
  })
})

describe('npmComponents', () => {
  const locked = {
    'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { b: '^1' } },
    'node_modules/b': { version: '2.0.0' },
    'node_modules/a/node_modules/b': { version: '1.5.0' },
    'node_modules/@s/c': { version: '3.0.0', peerDependencies: { b: '*', unused: '*' } },
    'node_modules/unused': { version: '9.0.0' },
  }

  it('tells two versions of a package apart, and who needs which', () => {
    const sources = [
      'node_modules/a/x.js',
      'node_modules/a/node_modules/b/y.js',
      'node_modules/b/y.js',
      'node_modules/@s/c/z.js',
    ]
    const found = npmComponents(sources, locked)
    assert.deepEqual(
      found.map(each => [each.purl, each.dependsOn]),
      [
        ['pkg:npm/%40s/c@3.0.0', ['npm:node_modules/b']],
        ['pkg:npm/a@1.0.0', ['npm:node_modules/a/node_modules/b']],
        ['pkg:npm/b@1.5.0', []],
        ['pkg:npm/b@2.0.0', []],
      ],
    )
  })

  it('refuses a package that is not locked', () => {
    assert.throws(
      () => npmComponents(['node_modules/strange/x.js'], locked),
      /strange is in the bundle and not in package-lock/,
    )
  })
})
