import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { nextTime } from '../../packages/server/src/schedule/next-time.ts'
import { CronError, parseCron } from '../../packages/server/src/schedule/parse-cron.ts'
import { timeZone } from '../../packages/server/src/schedule/zoned-time.ts'
import { tool } from '../../tools/binaries/tool.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'

interface Question {
  spec: string
  after: number
  count: number
}

interface Answer {
  error?: string
  times: number[]
}

/** What Velero's own parser says. */
async function theirs(questions: readonly Question[]): Promise<Answer[]> {
  const child = spawn(await tool('cron-times'), {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TZ: 'UTC' },
  })
  child.stdin.end(questions.map(question => `${JSON.stringify(question)}\n`).join(''))
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  return lines.map(line => JSON.parse(line) as Answer)
}

function ours({ spec, after, count }: Question): Answer {
  const utc = timeZone('UTC')
  assert.ok(utc)
  try {
    const schedule = parseCron(spec, utc)
    const times: number[] = []
    for (let at = nextTime(schedule, after); at !== undefined && times.length < count; ) {
      times.push(at)
      at = nextTime(schedule, at)
    }
    return { times }
  } catch (error) {
    if (!(error instanceof CronError)) throw error
    return { error: error.message, times: [] }
  }
}

async function compare(questions: readonly Question[]): Promise<{ valid: number; invalid: number }> {
  const answers = await theirs(questions)
  assert.equal(answers.length, questions.length)
  const counts = { valid: 0, invalid: 0 }
  for (const [at, question] of questions.entries()) {
    const [expected, actual] = [answers[at], ours(question)]
    const about = `${JSON.stringify(question)}: ${expected?.error} / ${actual.error}`
    assert.equal(actual.error === undefined, expected?.error === undefined, about)
    assert.deepEqual(readable(actual), readable(expected), about)
    counts[actual.error === undefined ? 'valid' : 'invalid']++
  }
  return counts
}

function readable(answer: Answer | undefined): string[] | undefined {
  return answer?.times.map(time => new Date(time).toISOString())
}

const zones = [
  ...['Europe/Berlin', 'America/New_York', 'America/Sao_Paulo', 'Asia/Kolkata', 'Asia/Tokyo'],
  ...['Australia/Lord_Howe', 'Pacific/Chatham', 'Africa/Cairo', 'America/St_Johns', 'Asia/Beirut', 'UTC'],
]

// Clocks are put forward and back in these months.
const changes = [Date.UTC(2026, 2, 1), Date.UTC(2026, 9, 1), Date.UTC(2018, 10, 1), Date.UTC(2018, 1, 1)]

function randomQuestion(random: SeededRandom): Question {
  const after = random.chance(0.5)
    ? random.pick(changes) + random.integer(0, 45 * 86_400) * 1000 + random.integer(0, 1000)
    : random.integer(Date.UTC(2015, 0), Date.UTC(2040, 0))
  const zone = random.chance(0.6) ? `${random.pick(['TZ', 'CRON_TZ'])}=${random.pick(zones)} ` : ''
  return { spec: zone + randomSpec(random), after, count: 4 }
}

function randomSpec(random: SeededRandom): string {
  if (random.chance(0.15)) {
    const words = ['@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually', '@hourly', '@none']
    const every = `@every ${random.pick(['1h', '90m', '1.5s', '0.5s', '24h0m1s', '-1h', '10', 'x'])}`
    return random.pick([...words, every, '@fortnightly'])
  }
  const field = (min: number, max: number, names: readonly string[]) =>
    randomField(random, { min, max, names })
  return [
    field(0, 59, []),
    field(0, 23, []),
    field(1, 31, []),
    field(1, 12, ['jan', 'FEB', 'Dec']),
    field(0, 7, ['sun', 'MON', 'Sat']),
  ].join(' ')
}

interface FieldRange {
  min: number
  max: number
  names: readonly string[]
}

function randomField(random: SeededRandom, { min, max, names }: FieldRange): string {
  if (random.chance(0.45)) return random.pick(['*', '*', '*', '?'])
  if (random.chance(0.03))
    return random.pick(['', '-', '/', 'x', '1-2-3', '*/0', '1/2/3', ',', '*-3', '+1', 'L', '5W', '-1'])
  const value = () => {
    if (names.length > 0 && random.chance(0.2)) return random.pick(names)
    const beyond = random.chance(0.01) ? 1 : 0
    return String(random.integer(min - beyond, max + 1 + beyond))
  }
  const step = () => (random.chance(0.3) ? `/${random.integer(1, 13)}` : '')
  const range = () =>
    random.chance(0.3)
      ? `*${step()}`
      : random.chance(0.4)
        ? `${value()}-${value()}${step()}`
        : value() + step()
  return Array.from({ length: random.chance(0.25) ? random.integer(2, 5) : 1 }, range).join(',')
}

describe('cron expressions', () => {
  it("mean what they mean to Velero's parser where clocks are changed", async () => {
    const questions = zones.flatMap(zone =>
      changes.flatMap(change =>
        [
          '30 * * * *',
          '30 2 * * *',
          '15 0 * * *',
          '0 1,2,3 * * *',
          '*/20 0-3 * * 0',
          '@daily',
          '@hourly',
        ].map(spec => ({ spec: `TZ=${zone} ${spec}`, after: change, count: 40 })),
      ),
    )
    const { valid } = await compare(questions)
    assert.equal(valid, questions.length)
  })

  it('are refused where Velero refuses them', async () => {
    const specs = [
      ...[
        '',
        ' ',
        '* * * *',
        '* * * * * *',
        '60 * * * *',
        '* 24 * * *',
        '* * 0 * *',
        '* * 32 * *',
        '* * * 13 *',
      ],
      ...[
        '* * * * 8',
        '*/0 * * * *',
        '1/2/3 * * * *',
        '1-2-3 * * * *',
        '@',
        '@every',
        '@every 1x',
        '@every 1ms',
      ],
      ...[
        'TZ=UTC',
        'TZ= * * * * *',
        'TZ=Mars/Phobos * * * * *',
        'CRON_TZ=../x * * * * *',
        `${'*,'.repeat(600)}* * * * *`,
      ],
      ...[
        'TZ="UTC * * * * *',
        'H * * * *',
        '* * L * *',
        '* * * * 5#2',
        '0 0 1-7/9 * *',
        '5-70 * * * *',
        'a * * * *',
      ],
    ]
    const { invalid } = await compare(specs.map(spec => ({ spec, after: 0, count: 1 })))
    assert.equal(invalid, specs.length)
  })

  for (const seed of rotatingSeeds({ name: 'cron', count: 2, soakCount: 200 })) {
    it(`mean what they mean to Velero's parser (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const { valid } = await compare(Array.from({ length: 1500 }, () => randomQuestion(random)))
      assert.ok(valid > 500, `only ${valid} were valid`)
    })
  }
})
