import { WrapText } from 'lucide-react'
import { Button } from '../../ui/Button.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { setDisplay, useDisplay } from './view/display.ts'

// These styles are inline, because the sign-in page loads the classes of all pages.
const pressedStyle = { borderColor: 'var(--accent)', background: 'var(--accent-soft)', color: 'var(--accent)' }

/** Turns the wrapping of lines on and off, and switches between the user's time zone and UTC. */
export function DisplayToggles() {
  const { isWrapped, isUtc } = useDisplay()
  return (
    <>
      <IconButton
        label="Wrap lines"
        variant="secondary"
        icon={<WrapText size={14} aria-hidden />}
        aria-pressed={isWrapped}
        onClick={() => setDisplay({ isWrapped: !isWrapped })}
        style={isWrapped ? pressedStyle : undefined}
      />
      <Button
        aria-pressed={isUtc}
        data-tip={isUtc ? 'Times are in UTC' : 'Times are in your time zone'}
        onClick={() => setDisplay({ isUtc: !isUtc })}
        style={isUtc ? pressedStyle : undefined}
      >
        UTC
      </Button>
    </>
  )
}
