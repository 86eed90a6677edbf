import { Search, X } from 'lucide-react'
import { useRef } from 'react'
import { cx } from './classes.ts'
import { controlClass } from './Field.tsx'

type Props = {
  label: string
  value: string
  onChange: (text: string) => void
  placeholder?: string
  className?: string
}

/** A search field. Escape and the button in the field clear the text. The hotkey `/` focuses the page's first search field. */
export function SearchField({ label, value, onChange, placeholder = label, className }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const clear = () => {
    onChange('')
    input.current?.focus()
  }
  return (
    <div className={cx('relative w-72', className)}>
      <Search size={14} aria-hidden className="pointer-events-none absolute top-2.25 left-2.5 text-ink-3" />
      <input
        ref={input}
        type="search"
        aria-label={label}
        data-search
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => event.key === 'Escape' && value !== '' && (event.preventDefault(), clear())}
        className={cx(controlClass, 'h-8 px-8 [&::-webkit-search-cancel-button]:appearance-none')}
      />
      {value !== '' && (
        <button
          type="button"
          aria-label="Clear search"
          onClick={clear}
          className="absolute inset-y-1 right-1 grid w-6 place-items-center rounded-sm text-ink-3 hover:text-ink"
        >
          <X size={14} aria-hidden />
        </button>
      )}
    </div>
  )
}
