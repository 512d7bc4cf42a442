import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ActionItem, isObjectStoreError, isPluginError } from '@lateen/plugin'
import { collectLog } from './collected-log.ts'
import { backup, type FaultyScene, failsWith, item, openFaultyScene, what } from './faulty-scene.ts'
import { untilGone } from './plugin-host-scene.ts'

const where = { bucket: 'bucket' }

describe('a plugin program that ends by itself', { concurrency: false }, () => {
  let scene: FaultyScene
  before(async () => {
    scene = await openFaultyScene()
  })
  after(() => scene[Symbol.asyncDispose]())

  /** Brings a store and a snapshotter into the process, so that it has something to be told again. */
  async function initialise() {
    const store = scene.session.objectStore('example.com/store')
    await store.init({ config: { ...where, prefix: 'p', setting: 'first' } })
    const snapshotter = scene.session.volumeSnapshotter('example.com/snapshotter')
    await snapshotter.init({ config: { zone: 'z' } })
    return { store, snapshotter }
  }
  const inits = [
    'init store {"bucket":"bucket","prefix":"p","setting":"first"}',
    'init snapshotter {"zone":"z"}',
  ]

  it('while nobody asks it is started again for the next call, and told its settings first', async () => {
    await initialise()
    await scene.execute('exits-soon')
    const before = await scene.news()
    assert.deepEqual(what(before), ['started', ...inits, 'execute example.com/exits-soon'])
    const [{ pid } = { pid: 0 }] = before
    await untilGone(pid)
    assert.equal((await scene.execute('fine')).unchanged, true)
    const afterwards = await scene.news()
    assert.deepEqual(what(afterwards), ['started', ...inits, 'execute example.com/fine'])
    assert.notEqual(afterwards[0]?.pid, pid)
  })

  for (const name of ['exits', 'killed', 'leaves-grandchild']) {
    it(`in the middle of a call (${name}) fails that call, which is not repeated, and no other`, async () => {
      await scene.execute('fine')
      await scene.news()
      await assert.rejects(scene.execute(name), failsWith('UNAVAILABLE'))
      const [asked, ...more] = await scene.news()
      assert.equal(asked?.what, `execute example.com/${name}`)
      assert.deepEqual(
        more.filter(each => !each.what.startsWith('grandchild')),
        [],
      )
      assert.equal((await scene.execute('fine')).unchanged, true)
      assert.deepEqual(what(await scene.news()), ['started', ...inits, 'execute example.com/fine'])
    })
  }

  it('in the middle of storing fails the call, which is not repeated', async () => {
    const { store } = await initialise()
    await scene.news()
    async function* body() {
      for (let part = 0; part < 100; part += 1) yield Buffer.alloc(50_000)
      // Never comes to an end of itself.
      await new Promise(() => {})
    }
    const put = store.putObject({ ...where, key: 'killed', body: body() })
    await assert.rejects(put, error => isObjectStoreError(error, 'UNREACHABLE'))
    assert.deepEqual(what(await scene.news()), ['put killed'])
    await store.putObject({ ...where, key: 'whole', body: Buffer.from('x') })
    assert.deepEqual(what(await scene.news()), ['started', ...inits, 'put whole'])
    assert.equal(await store.objectExists({ ...where, key: 'whole' }), true)
  })

  it('in the middle of reading fails the read, and the next one works', async () => {
    const { store } = await initialise()
    await scene.news()
    const broken = (async () => buffer(await store.getObject({ ...where, key: 'killed' })))()
    await assert.rejects(broken, error => isObjectStoreError(error, 'UNREACHABLE'))
    assert.deepEqual(what(await scene.news()), ['get killed'])
    assert.equal((await buffer(await store.getObject({ ...where, key: 'whole' }))).length, 64_000)
    assert.deepEqual(what(await scene.news()), ['started', ...inits, 'get whole'])
  })

  it('in the middle of a snapshot fails it, and takes no second one', async () => {
    const { snapshotter } = await initialise()
    await scene.news()
    const options = { volumeZone: 'z', tags: {} }
    const killed = snapshotter.createSnapshot({ ...options, volumeId: 'killed' })
    await assert.rejects(killed, failsWith('UNAVAILABLE'))
    assert.deepEqual(what(await scene.news()), ['snapshot killed'])
    assert.equal(await snapshotter.createSnapshot({ ...options, volumeId: 'v' }), 'snapshot of v')
    assert.deepEqual(what(await scene.news()), ['started', ...inits, 'snapshot v'])
  })

  it('while many calls are under way fails these, and is started once for those that follow', async () => {
    await scene.execute('fine')
    const hanging = Array.from({ length: 20 }, () => scene.execute('hangs'))
    const ended = Promise.allSettled(hanging)
    await assert.rejects(scene.execute('killed'), failsWith('UNAVAILABLE'))
    for (const each of await ended) assert.equal(each.status, 'rejected')
    await scene.news()
    await Promise.all(Array.from({ length: 20 }, () => scene.execute('fine')))
    assert.equal(what(await scene.news()).filter(each => each === 'started').length, 1)
  })

  it('says in the log of the session how it ended', () => {
    const ends = scene.log.entries.filter(({ message }) => /ended by itself/.test(message))
    assert.ok(ends.length >= 6)
    assert.ok(
      ends.every(({ level, fields }) => level === 'error' && /exit code 3|SIGKILL/.test(String(fields.exit))),
    )
  })

  it('leaves nothing behind when the session ends', async () => {
    await scene.session[Symbol.asyncDispose]()
    assert.deepEqual(await scene.host.processes(), [])
    await assert.rejects(scene.execute('fine'), failsWith('UNAVAILABLE'))
  })
})

describe('a plugin program that does not behave', { concurrency: false }, () => {
  let scene: FaultyScene
  before(async () => {
    scene = await openFaultyScene()
  })
  after(() => scene[Symbol.asyncDispose]())

  it('panics in one call and goes on', async () => {
    await scene.execute('fine')
    const [{ pid } = { pid: 0 }] = await scene.news()
    await assert.rejects(scene.execute('panics'), failsWith('PANICKED'))
    await scene.execute('fine')
    const notes = await scene.news()
    assert.deepEqual(what(notes), [
      'execute example.com/panics',
      'left example.com/panics',
      'execute example.com/fine',
    ])
    assert.ok(notes.every(each => each.pid === pid))
  })

  it('refuses in any words', async () => {
    await assert.rejects(scene.execute('refuses'), error => {
      assert.ok(isPluginError(error, 'FAILED') && !error.transport)
      assert.match(error.message, /this is refused,\nover two lines and with ünïcödé/)
      return true
    })
  })

  it('never answers: the caller can leave, the program hears of it, and others are answered', async () => {
    const stop = new AbortController()
    const left = scene.execute('hangs', stop.signal)
    await scene.execute('fine')
    await scene.news()
    stop.abort(new Error('enough'))
    await assert.rejects(left, /enough/)
    await scene.execute('fine')
    for (let round = 0; !what(await scene.folder.noted()).includes('left example.com/hangs'); round += 1) {
      assert.ok(round < 1200, 'the program is not told')
      await sleep(50)
    }
  })

  it('floods both its outputs without a line break, and answers', async () => {
    assert.equal((await scene.execute('floods')).unchanged, true)
    assert.equal((await scene.execute('fine')).unchanged, true)
    const longest = Math.max(...scene.log.entries.map(({ message }) => message.length))
    assert.ok(longest <= 65_536, `a line of ${longest} characters is in the log`)
  })

  it('answers with 100 MiB', async () => {
    const { item: answered } = await scene.execute('answers-much')
    assert.equal((answered as ActionItem & { data: { text: string } }).data.text.length, 100 << 20)
  })

  it('lists 100,000 keys, which is more than 4 MiB', async () => {
    const store = scene.session.objectStore('example.com/store')
    await store.init({ config: where })
    const keys = await Array.fromAsync(store.listObjects({ ...where, prefix: 'p/' }))
    assert.equal(keys.length, 100_000)
    assert.equal(new Set(keys).size, 100_000)
  })

  it('writes lines of every sort, which are there when it was heard, and those of a panic are errors', async () => {
    await scene.execute('logs')
    await scene.session.heard()
    const found = (message: string | RegExp) =>
      scene.log.entries.find(entry =>
        typeof message === 'string' ? entry.message === message : message.test(entry.message),
      )
    assert.equal(found('a debug line'), undefined)
    assert.deepEqual([found('an info line')?.level, found('an info line')?.fields.name], ['info', '5'])
    assert.equal(found(/a warning/)?.level, 'warn')
    assert.equal(found('[WARN] prefixed')?.level ?? found(/prefixed/)?.level, 'warn')
    assert.equal(found('plain text')?.level, 'debug')
    assert.equal(found('panic: it is all over')?.level, 'error')
    assert.equal(found('goroutine 1')?.level, 'error')
    assert.ok(scene.log.entries.every(({ fields }) => fields.pluginName === 'faulty'))
  })

  it('answers a hundred calls at once', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => scene.execute('fine')))
    assert.ok(answers.every(({ unchanged }) => unchanged))
  })

  it('runs once for each of eight sessions at once, and for none of them afterwards', async () => {
    await scene.news()
    const others = Array.from({ length: 8 }, () => scene.host.registry.open({ log: collectLog() }))
    await Promise.all(
      others.map(session => session.backupItemAction('example.com/fine').execute({ item, backup })),
    )
    const pids = new Set((await scene.news()).map(({ pid }) => pid))
    assert.equal(pids.size, 8)
    await Promise.all(others.map(session => session[Symbol.asyncDispose]()))
    for (const pid of pids) await untilGone(pid)
  })

  it('is ended while it has calls, which fail', async () => {
    const session = scene.host.registry.open({ log: collectLog() })
    const hanging = assert.rejects(
      session.backupItemAction('example.com/hangs').execute({ item, backup }),
      error => isPluginError(error) && error.transport,
    )
    await session.backupItemAction('example.com/fine').execute({ item, backup })
    await session[Symbol.asyncDispose]()
    await hanging
  })
})
