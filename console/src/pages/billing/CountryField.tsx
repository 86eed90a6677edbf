import { useState } from 'react'
import { ComboBox } from '../../ui/ComboBox.tsx'
import { countryOptions } from './countries.ts'

type Props = { value: string; onChange: (code: string) => void; error?: string | undefined }

/** A country by its name; typing narrows the list. What is kept is its code. */
export default function CountryField({ value, onChange, error }: Props) {
  const [options] = useState(countryOptions)
  return (
    <ComboBox
      label="Country"
      placeholder="Type to search"
      options={options}
      value={value === '' ? null : value}
      onChange={(code) => onChange(code ?? '')}
      error={error}
    />
  )
}
