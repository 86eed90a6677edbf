import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'

const openAfterMs = 350
/** The time in which the pointer can move from the element to the tooltip. */
const closeAfterMs = 80
const gapPx = 6

type Shown = { text: string; target: HTMLElement }

/**
 * The only tooltip of the page. It shows the text in `data-tip` of the element that the pointer is over or that has the keyboard focus, so
 * that tooltips in a table of a thousand rows cost nothing. The pointer may move onto the tooltip, and Escape closes it (WCAG 1.4.13).
 */
export function TooltipHost() {
  const [shown, setShown] = useState<Shown | null>(null)
  const tooltip = useRef<HTMLDivElement>(null)
  const id = useId()

  useEffect(() => {
    let timer = 0
    const show = (target: HTMLElement) => setShown({ text: target.dataset['tip'] ?? '', target })
    const close = () => setShown(null)
    const hide = () => {
      clearTimeout(timer)
      close()
    }
    const showHovered = (target: HTMLElement) => target.matches(':hover') && show(target)
    const onPointerOver = ({ target, pointerType }: PointerEvent) => {
      if (!(target instanceof Element) || tooltip.current?.contains(target)) return
      const tipTarget = target.closest<HTMLElement>('[data-tip]')
      clearTimeout(timer)
      if (!tipTarget) timer = window.setTimeout(hide, closeAfterMs)
      else if (pointerType !== 'touch') timer = window.setTimeout(showHovered, openAfterMs, tipTarget)
    }
    const onFocus = ({ target }: FocusEvent) => {
      const tipTarget = target instanceof Element ? target.closest<HTMLElement>('[data-tip]') : null
      if (tipTarget?.matches(':focus-visible')) show(tipTarget)
    }
    const onKeyDown = (event: KeyboardEvent) => event.key === 'Escape' && hide()
    const listeners = new AbortController()
    const options = { signal: listeners.signal, capture: true }
    document.addEventListener('pointerover', onPointerOver, options)
    document.addEventListener('focusin', onFocus, options)
    document.addEventListener('focusout', hide, options)
    document.addEventListener('pointerdown', hide, options)
    document.addEventListener('keydown', onKeyDown, options)
    // Scrolling does not clear the timer: if a scroll ends just after the pointer has reached an element, its tooltip still opens.
    document.addEventListener('scroll', close, options)
    return () => {
      listeners.abort()
      hide()
    }
  }, [])

  useLayoutEffect(() => {
    if (!shown || !tooltip.current) return undefined
    const targetRect = shown.target.getBoundingClientRect()
    const { width, height } = tooltip.current.getBoundingClientRect()
    const centred = targetRect.left + targetRect.width / 2 - width / 2
    const above = targetRect.top - height - gapPx
    tooltip.current.style.left = `${Math.max(8, Math.min(centred, window.innerWidth - width - 8))}px`
    // The tooltip of a submit button is below it, because the fields of the form are above.
    const isBelow = above < 8 || shown.target.matches('[type=submit]')
    tooltip.current.style.top = `${isBelow ? targetRect.bottom + gapPx : above}px`
    if (shown.target.hasAttribute('aria-description') || shown.target.getAttribute('aria-label') === shown.text)
      return undefined
    shown.target.setAttribute('aria-describedby', id)
    return () => shown.target.removeAttribute('aria-describedby')
  }, [shown, id])

  if (!shown) return null
  return (
    <div
      ref={tooltip}
      id={id}
      role="tooltip"
      // Screen readers read it as the description of its element, and need not find it outside of the page's landmarks.
      aria-hidden
      className="fixed z-50 max-w-72 rounded-md bg-ink px-2 py-1 text-xs whitespace-pre-line text-canvas shadow-overlay"
    >
      {shown.text}
    </div>
  )
}
