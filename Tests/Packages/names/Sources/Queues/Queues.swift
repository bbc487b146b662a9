/// Stands for a target of another package.
public enum QueuesMark {}
