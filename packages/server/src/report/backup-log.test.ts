import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createBackupLog } from './backup-log.ts'

const clock = { now: () => Date.parse('2026-03-04T05:06:07.890Z'), sleep: async () => undefined }

async function givenLog(t: TestContext, format: 'text' | 'json' = 'text') {
  const scratch = await mkdtemp(path.join(tmpdir(), 'lateen-log-'))
  t.after(() => rm(scratch, { recursive: true }))
  const log = await createBackupLog({
    scratch,
    level: 'info',
    format,
    clock,
    fields: { backup: 'velero/nightly' },
  })
  const read = async () => gunzipSync(Buffer.concat(await Array.fromAsync(await log.open()))).toString()
  return { log, read, scratch }
}

describe('The log of a backup', () => {
  it('has lines as logrus writes them, with the fields in alphabetical order', async t => {
    const { log, read } = await givenLog(t)
    log.info({ resource: 'pods', name: 'web' }, 'Backing up item')
    log.child({ namespace: 'shop' }).warn({ error: new Error('no "such" file') }, 'a hook failed')
    assert.equal(
      await read(),
      'time="2026-03-04T05:06:07Z" level=info msg="Backing up item" backup=velero/nightly name=web resource=pods\n' +
        'time="2026-03-04T05:06:07Z" level=warning msg="a hook failed" backup=velero/nightly error="no \\"such\\" file" namespace=shop\n',
    )
  })

  it('can be read when nothing was said', async t => {
    const { log, read } = await givenLog(t)
    assert.equal(await read(), '')
    log.info({}, 'now')
    assert.match(await read(), /^time=.* msg=now .*\n$/)
  })

  it('is JSON where that is asked for', async t => {
    const { log, read } = await givenLog(t, 'json')
    log.error({ error: new Error('x') }, 'failed')
    assert.deepEqual(JSON.parse(await read()), {
      backup: 'velero/nightly',
      error: 'x',
      level: 'error',
      msg: 'failed',
      time: '2026-03-04T05:06:07Z',
    })
  })

  it('leaves out what is below its level, and counts only warnings and errors', async t => {
    const { log, read } = await givenLog(t)
    log.debug({}, 'hidden')
    log.info({}, 'shown')
    log.warn({}, 'first')
    log.warn({}, 'second')
    log.error({}, 'third')
    assert.equal((await read()).split('\n').length, 5)
    assert.deepEqual([log.warnings, log.errors], [2, 1])
  })

  it('can be read in the middle and goes on, however long it is', async t => {
    const { log, read } = await givenLog(t)
    for (let line = 0; line < 10_000; line += 1) log.info({ line }, 'a line of the first half')
    assert.equal((await read()).split('\n').length, 10_001)
    for (let line = 0; line < 10_000; line += 1) log.info({ line }, 'a line of the second half')
    assert.equal((await read()).split('\n').length, 20_001)
  })

  it('puts warnings and errors where they belong: a namespace, the cluster or the server', async t => {
    const { log } = await givenLog(t)
    log.error({ namespace: 'shop', resource: 'pods', name: 'web', error: new Error('boom') }, 'not stored')
    log.error({ namespace: '', resource: 'nodes' }, 'not listed')
    log.warn({}, 'odd')
    assert.deepEqual(log.results, {
      errors: {
        namespaces: { shop: [' resource: /pods name: /web message: /not stored error: /boom'] },
        cluster: [' resource: /nodes message: /not listed'],
      },
      warnings: { velero: [' message: /odd'] },
    })
  })

  it('keeps ten thousand results and says how many more there were', async t => {
    const { log } = await givenLog(t)
    for (let line = 0; line < 10_007; line += 1) log.warn({}, 'again')
    assert.equal(log.results.warnings.velero?.length, 10_001)
    assert.equal(log.results.warnings.velero?.at(-1), ' message: /7 more are in the log')
    assert.equal(log.warnings, 10_007)
  })

  it('leaves nothing in scratch', async t => {
    const { log, scratch } = await givenLog(t)
    log.info({}, 'x')
    await log[Symbol.asyncDispose]()
    assert.deepEqual(await readdir(scratch), [])
  })
})
