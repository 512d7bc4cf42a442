import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type ClusterPlan, clusterFolder, portsOf } from './cluster-layout.ts'
import { writeState } from './cluster-state.ts'
import { hasSuccessor } from './traces.ts'

describe('hasSuccessor', () => {
  const known = process.env.LATEEN_CLUSTERS
  let folder = ''

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'lateen-traces-'))
    process.env.LATEEN_CLUSTERS = folder
  })
  after(async () => {
    if (known === undefined) delete process.env.LATEEN_CLUSTERS
    else process.env.LATEEN_CLUSTERS = known
    await rm(folder, { recursive: true })
  })

  function plan(name: string, index: number): ClusterPlan {
    return { name, folder: clusterFolder(name), node: true, s3: false, index, ports: portsOf(index) }
  }

  async function begin(name: string, index: number): Promise<void> {
    await mkdir(clusterFolder(name))
    await writeState(plan(name, index))
  }

  it('tells a cluster that has taken over the index from itself and from its neighbours', async () => {
    const gone = plan('gone', 3)
    await begin('gone', 3)
    await begin('neighbour', 4)
    assert.equal(await hasSuccessor(gone), false)
    await rm(gone.folder, { recursive: true })
    assert.equal(await hasSuccessor(gone), false)
    await begin('next', 3)
    assert.equal(await hasSuccessor(gone), true)
  })
})
