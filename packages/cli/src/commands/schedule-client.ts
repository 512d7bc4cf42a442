import { type Schedule, ScheduleKind } from '@lateen/api'
import { type KindWords, type ObjectClient, objectClient, type Place } from './object-client.ts'

const words: KindWords = {
  one: 'schedule',
  many: 'schedules',
  missingHint: "'lateen schedule get' lists those that do",
  takenHint: name => `choose another name, or delete it first with 'lateen schedule delete ${name}'`,
}

/** Opens the schedules of a namespace. All verbs throw CliErrors for what is missing or in the way. */
export function scheduleClient(place: Place): ObjectClient<Schedule> {
  return objectClient(ScheduleKind, place, words)
}
