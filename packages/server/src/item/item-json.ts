export { parseItem, serializeItem } from '@lateen/plugin'
