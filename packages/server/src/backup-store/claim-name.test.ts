import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClaimPorts, claimName } from './claim-name.ts'

/** One bucket's keys for one name; each call takes a turn of its own, as requests of two clusters do. */
class SharedFolder {
  readonly keys = new Set<string>()

  ports(random: () => number, signal = new AbortController().signal): ClaimPorts {
    const { keys } = this
    const turn = () => sleep(1)
    return {
      random,
      signal,
      clock: { now: () => 0, sleep: ms => sleep(ms / 10) },
      store: {
        async putClaim({ uid }) {
          await turn()
          keys.add(uid)
        },
        async deleteClaim({ uid }) {
          await turn()
          keys.delete(uid)
        },
        async hasBeside({ uid }) {
          await turn()
          return [...keys].some(key => key !== uid)
        },
      },
    }
  }
}

describe('The name of a backup', () => {
  it('is taken once, also again by the same backup', async () => {
    const folder = new SharedFolder()
    const ports = folder.ports(() => 0)
    assert.equal(await claimName({ name: 'b', uid: 'one' }, ports), true)
    assert.equal(await claimName({ name: 'b', uid: 'one' }, ports), true)
    assert.equal(await claimName({ name: 'b', uid: 'two' }, ports), false)
    assert.deepEqual([...folder.keys], ['one'])
  })

  it('two schedules that began in the same millisecond overwrote each other: one of them gets it', async () => {
    const folder = new SharedFolder()
    const taken = await Promise.all([
      claimName(
        { name: 'b', uid: 'one' },
        folder.ports(() => 0.01),
      ),
      claimName(
        { name: 'b', uid: 'two' },
        folder.ports(() => 0.9),
      ),
    ])
    assert.equal(taken.filter(Boolean).length, 1)
    assert.equal(folder.keys.size, 1)
  })

  it('is never taken twice, whoever meets whom', async () => {
    for (let round = 0; round < 20; round++) {
      const folder = new SharedFolder()
      const uids = ['one', 'two', 'three']
      const taken = await Promise.all(
        uids.map(uid =>
          claimName(
            { name: 'b', uid },
            folder.ports(() => Math.random() / 100),
          ),
        ),
      )
      const winners = uids.filter((_, at) => taken[at])
      assert.ok(winners.length <= 1, winners.join(' and '))
      assert.deepEqual([...folder.keys], winners)
    }
  })

  it('is let go when the store does not say whether it was free', async () => {
    const folder = new SharedFolder()
    const ports = folder.ports(() => 0)
    let looks = 0
    const store: ClaimPorts['store'] = {
      ...ports.store,
      hasBeside: async (claim, what) => {
        if (++looks === 2) throw new Error('the store answers 503')
        return await ports.store.hasBeside(claim, what)
      },
    }
    await assert.rejects(claimName({ name: 'b', uid: 'one' }, { ...ports, store }), /503/)
    assert.equal(folder.keys.size, 0)
  })

  it('two that were killed with their claims kept each other from the name for ever: the second one gets it', async () => {
    const folder = new SharedFolder()
    const ports = folder.ports(() => 0)
    folder.keys.add('one').add('two')
    assert.equal(await claimName({ name: 'b', uid: 'one' }, ports), false)
    assert.equal(await claimName({ name: 'b', uid: 'two' }, ports), true)
    assert.deepEqual([...folder.keys], ['two'])
  })
})
