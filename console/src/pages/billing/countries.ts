import { countryCodes } from '@shoal/contract'
import type { Option } from '../../ui/control-classes.ts'

/** All countries, sorted by their English names, which the browser provides. */
export function countryOptions(): Option[] {
  const names = new Intl.DisplayNames('en', { type: 'region' })
  return countryCodes
    .map((id) => ({ id, label: names.of(id) ?? id }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))
}
