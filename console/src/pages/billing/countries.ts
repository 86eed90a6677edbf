import { countryCodes } from '@shoal/contract'
import type { Option } from '../../ui/control-classes.ts'

/** Every country by its English name, in the order of the names; the browser knows them. */
export function countryOptions(): Option[] {
  const names = new Intl.DisplayNames('en', { type: 'region' })
  return countryCodes
    .map((id) => ({ id, label: names.of(id) ?? id }))
    .sort((a, b) => a.label.localeCompare(b.label, 'en'))
}
