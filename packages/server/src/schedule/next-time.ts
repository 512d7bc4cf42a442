import type { CronSchedule } from './parse-cron.ts'
import type { TimeZone, WallTime } from './zoned-time.ts'

type Fields = Extract<CronSchedule, { type: 'fields' }>

const hourMs = 3_600_000
const minuteMs = 60_000
const mostYears = 5

/**
 * The first time after `after` (milliseconds since 1970) at which the schedule is due, or undefined when there is none within
 * five years.
 *
 * The way of looking is Velero's, because days on which clocks are changed show it: an hour that clocks skip is made up for at once,
 * one that they show twice counts twice.
 */
export function nextTime(schedule: CronSchedule, after: number): number | undefined {
  const second = Math.floor(after / 1000) * 1000
  if (schedule.type === 'never') return undefined
  if (schedule.type === 'every') return second + schedule.milliseconds
  return new Search(schedule, second + 1000).find()
}

class Search {
  readonly #fields: Fields
  readonly #zone: TimeZone
  #instant: number
  #wall: WallTime
  /** What is smaller than the field that was moved last begins anew. */
  #moved = false as boolean

  constructor(fields: Fields, instant: number) {
    this.#fields = fields
    this.#zone = fields.zone
    this.#instant = instant
    this.#wall = this.#zone.wallAt(instant)
  }

  find(): number | undefined {
    const last = this.#wall.year + mostYears
    while (this.#wall.year <= last) {
      if (
        this.#findMonth() &&
        this.#findDay() &&
        this.#findHour() &&
        this.#findMinute() &&
        this.#findSecond()
      ) {
        return this.#instant
      }
    }
    return undefined
  }

  // Each of these is false when the next larger field has to be looked at again.

  #findMonth(): boolean {
    while (!this.#fields.month.has(this.#wall.month)) {
      this.#startOver({ day: 1, hour: 0, minute: 0, second: 0 })
      this.#set({ month: this.#wall.month + 1 })
      if (this.#wall.month === 1) return false
    }
    return true
  }

  #findDay(): boolean {
    const { day, weekday } = this.#fields
    while (!day.has(this.#wall.day) || !weekday.has(this.#wall.weekday)) {
      this.#startOver({ hour: 0, minute: 0, second: 0 })
      this.#set({ day: this.#wall.day + 1 })
      const { hour } = this.#wall
      // There are days without midnight.
      if (hour > 12) this.#add((24 - hour) * hourMs)
      else if (hour > 0) this.#add(-hour * hourMs)
      if (this.#wall.day === 1) return false
    }
    return true
  }

  #findHour(): boolean {
    const { hour } = this.#fields
    while (!hour.has(this.#wall.hour)) {
      this.#startOver({ minute: 0, second: 0 })
      const before = this.#wall.hour
      this.#add(hourMs)
      const skippedIsDue = this.#wall.hour - before === 2 && hour.has(before + 1)
      if (skippedIsDue) return true
      if (this.#wall.hour === 0) return false
    }
    return true
  }

  #findMinute(): boolean {
    while (!this.#fields.minute.has(this.#wall.minute)) {
      if (!this.#moved) this.#goTo(Math.floor(this.#instant / minuteMs) * minuteMs)
      this.#moved = true
      this.#add(minuteMs)
      if (this.#wall.minute === 0) return false
    }
    return true
  }

  #findSecond(): boolean {
    if (this.#wall.second === 0) return true
    this.#moved = true
    this.#add((60 - this.#wall.second) * 1000)
    return false
  }

  #startOver(wall: Partial<WallTime>): void {
    if (!this.#moved) this.#set(wall)
    this.#moved = true
  }

  #set(wall: Partial<WallTime>): void {
    this.#goTo(this.#zone.instantOf({ ...this.#wall, ...wall }))
  }

  #add(milliseconds: number): void {
    this.#goTo(this.#instant + milliseconds)
  }

  #goTo(instant: number): void {
    this.#instant = instant
    this.#wall = this.#zone.wallAt(instant)
  }
}
