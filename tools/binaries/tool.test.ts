import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { goToolPath } from './build-go-tool.ts'
import { catalogue } from './catalogue.ts'
import { findTool } from './tool.ts'

describe('findTool', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-tools-'))
  const saved = { ...process.env }
  const program = async (...parts: string[]) => {
    const file = path.join(folder, ...parts)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, '#!/bin/sh\n')
    await chmod(file, 0o755)
    return file
  }

  before(() => {
    process.env.PATH = path.join(folder, 'path')
    process.env.KUBEBUILDER_ASSETS = path.join(folder, 'assets')
    process.env.LATEEN_CACHE = path.join(folder, 'cache')
  })
  after(async () => {
    process.env = saved
    await rm(folder, { recursive: true })
  })

  it('finds nothing where nothing is', async () => {
    assert.equal(await findTool('kube-apiserver'), undefined)
  })

  it('prefers PATH to KUBEBUILDER_ASSETS to the cache', async () => {
    const cached = await goToolPath('kube-apiserver', catalogue['kube-apiserver'])
    assert.ok(cached.startsWith(path.join(folder, 'cache')))
    await program(path.relative(folder, cached))
    assert.equal(await findTool('kube-apiserver'), cached)
    const asset = await program('assets', 'kube-apiserver')
    assert.equal(await findTool('kube-apiserver'), asset)
    const onPath = await program('path', 'kube-apiserver')
    assert.equal(await findTool('kube-apiserver'), onPath)
  })

  it('does not take a file that cannot be executed for a program', async () => {
    const file = await program('path', 'kubelet')
    await chmod(file, 0o644)
    assert.equal(await findTool('kubelet'), undefined)
  })
})
