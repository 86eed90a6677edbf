export * from "./transfer.model"
