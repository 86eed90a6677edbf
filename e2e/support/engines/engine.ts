/** A page in a browser other than Chromium, with what a test of the console's main workflow needs. */
export type EnginePage = {
  /** Opens a URL and waits until the document is loaded. */
  open(url: string): Promise<void>
  /** Waits for the first visible element that matches, and clicks it with the mouse. */
  click(target: Target): Promise<void>
  /** Waits for the form field with this label, and types the text into it. */
  type(label: string, text: string): Promise<void>
  /** Waits until a visible element matches. */
  waitFor(target: Target): Promise<void>
  /** Waits until the JavaScript expression `condition` is true in the page. */
  waitUntil(condition: string, description: string): Promise<void>
  /** Returns the value of a JavaScript expression, which must be serializable as JSON. */
  evaluate<T>(expression: string): Promise<T>
  /** Returns a picture of the window as PNG. */
  screenshot(): Promise<Buffer>
}

/** A running browser. */
export type Engine = {
  /** The name and version, such as `firefox 153.8.0`. */
  name: string
  page: EnginePage
  close: () => Promise<void>
}

/** An element, by a CSS selector and the start of its name: its label or its text. An empty name matches any. */
export type Target = [selector: string, name: string]

/** A JavaScript expression for the first visible element that matches, otherwise null. */
export const elementExpression = ([selector, name]: Target): string => `(() => {
  const nameOf = (element) => (element.getAttribute('aria-label') ?? element.innerText ?? '').trim()
  const isMatch = (element) => element.checkVisibility() && nameOf(element).startsWith(${JSON.stringify(name)})
  return [...document.querySelectorAll(${JSON.stringify(selector)})].find(isMatch) ?? null
})()`

/** A JavaScript expression for the form field with this label, otherwise null. */
export const fieldExpression = (label: string): string => `(() => {
  const isNamed = (element) => element.innerText.trim().startsWith(${JSON.stringify(label)})
  const labelled = [...document.querySelectorAll('label')].find(isNamed)?.control
  return labelled ?? document.querySelector(${JSON.stringify(`input[aria-label^="${label}"]`)})
})()`
